%% The actor benchmarks in Erlang: erl -s savina main WORKLOAD SIZE ROUNDS.
%%
%% Each round runs in a process of its own, which is the ping, the producer and so on. So its mailbox is
%% empty in the beginning.
-module(savina).
-export([main/1]).

main([Workload, Size, Rounds]) ->
    rounds(Workload, number(Size), number(Rounds)),
    halt().

number(Atom) -> list_to_integer(atom_to_list(Atom)).

rounds(_, _, 0) -> ok;
rounds(Workload, Size, Left) ->
    Me = self(),
    Start = erlang:monotonic_time(nanosecond),
    spawn(fun() -> Me ! {result, run(Workload, Size)} end),
    Result = receive {result, Answer} -> Answer end,
    Time = erlang:monotonic_time(nanosecond) - Start,
    case expected(Workload, Size) of
        Result -> ok;
        Other -> io:format(standard_error, "~s answered ~p, not ~p~n", [Workload, Result, Other]), halt(1)
    end,
    io:format("RESULT\t~s\terlang\t\t~.3f\tms~n", [Workload, Time / 1.0e6]),
    rounds(Workload, Size, Left - 1).

run(pingpong, Count) -> pingpong(Count);
run(counting, Count) -> counting(Count);
run(throughput, Count) -> throughput(Count, 60);
run(creation, Count) -> creation(Count);
run(threadring, Hops) -> threadring(100, Hops);
run(chameneos, Meetings) -> chameneos(100, Meetings);
run(bigcontention, Count) -> bigcontention(2000, Count);
run(trapezoidal, Pieces) -> trapezoidal(100, Pieces, 1.0, 5.0);
run(fibonacci, N) -> fibonacci(N).

expected(throughput, Count) -> Count * 60;
expected(threadring, Hops) -> Hops + 1;
expected(bigcontention, Count) -> Count * 2000;
expected(trapezoidal, _) -> 2711;
expected(fibonacci, N) -> fibonacci(N, 1, 0);
expected(_, Size) -> Size.

%% The sum of what so many processes tell.
sum(0, Sum) -> Sum;
sum(Parties, Sum) -> receive {add, Number} -> sum(Parties - 1, Sum + Number) end.

compute() -> math:sin(37.2) * math:sin(37.2).

pingpong(Count) ->
    Pong = spawn(fun pong/0),
    Answers = ping(Pong, Count, 0),
    Pong ! stop,
    Answers.
pong() -> receive {ping, Sender} -> Sender ! pong, pong(); stop -> ok end.
ping(_, 0, Answers) -> Answers;
ping(Pong, Left, Answers) ->
    Pong ! {ping, self()},
    receive pong -> ping(Pong, Left - 1, Answers + 1) end.

counting(Count) ->
    Counter = spawn(fun() -> counter(0) end),
    produce(Counter, Count),
    Counter ! {total, self()},
    receive {count, Total} -> Total end.
counter(Count) ->
    receive
        increment -> counter(Count + 1);
        {total, Sender} -> Sender ! {count, Count}
    end.
produce(_, 0) -> ok;
produce(Counter, Left) -> Counter ! increment, produce(Counter, Left - 1).

throughput(Count, Size) ->
    Me = self(),
    Workers = [spawn(fun() -> work(Count), Me ! {add, Count} end) || _ <- lists:seq(1, Size)],
    flood(Workers, Count),
    sum(Size, 0).
flood(_, 0) -> ok;
flood(Workers, Left) -> [Worker ! work || Worker <- Workers], flood(Workers, Left - 1).
work(0) -> ok;
work(Left) -> receive work -> compute(), work(Left - 1) end.

creation(Count) ->
    Me = self(),
    [spawn(fun() -> receive work -> compute(), Me ! {add, 1} end end) ! work || _ <- lists:seq(1, Count)],
    sum(Count, 0).

threadring(Size, Hops) ->
    Me = self(),
    Last = spawn(fun() -> receive {next, First} -> member(First, Me, 0) end end),
    Others = lists:foldl(
        fun(_, Members) -> [spawn(fun() -> member(hd(Members), Me, 0) end) | Members] end,
        [Last], lists:seq(2, Size)),
    Last ! {next, hd(Others)},
    hd(Others) ! Hops,
    receive done -> ok end,
    [Member ! stop || Member <- Others],
    sum(Size, 0).
member(Next, Main, Visits) ->
    receive
        0 -> Main ! done, member(Next, Main, Visits + 1);
        stop -> Main ! {add, Visits};
        Hops -> Next ! (Hops - 1), member(Next, Main, Visits + 1)
    end.

chameneos(Size, Meetings) ->
    Me = self(),
    Mall = spawn(fun() -> mall(Meetings, none) end),
    [spawn(fun() -> creature(Mall, I rem 3, 0, Me) end) || I <- lists:seq(1, Size)],
    Sum = sum(Size, 0),
    Mall ! stop,
    Sum div 2.
creature(Mall, Colour, Met, Main) ->
    Mall ! {meet, self(), Colour},
    receive
        {become, Changed} -> creature(Mall, Changed, Met + 1, Main);
        go_home -> Main ! {add, Met}
    end.
mall(0, none) ->
    receive {meet, Creature, _} -> Creature ! go_home, mall(0, none); stop -> ok end;
mall(Left, none) ->
    receive {meet, Creature, Colour} -> mall(Left, {Creature, Colour}) end;
mall(Left, {Other, OtherColour}) ->
    receive
        {meet, Creature, Colour} ->
            Changed = if Colour =:= OtherColour -> Colour; true -> 3 - Colour - OtherColour end,
            Creature ! {become, Changed},
            Other ! {become, Changed},
            mall(Left - 1, none)
    end.

bigcontention(Size, Count) ->
    Me = self(),
    Workers = [
        spawn(fun() ->
            rand:seed(exsss, I),
            receive {others, Others} -> worker(Others, Size, Count, 0, Me) end
        end)
        || I <- lists:seq(1, Size)
    ],
    Others = list_to_tuple(Workers),
    [Worker ! {others, Others} || Worker <- Workers],
    [Worker ! pong || Worker <- Workers],
    sum(Size, 0),
    [Worker ! stop || Worker <- Workers],
    sum(Size, 0).
worker(Others, Size, Left, Answered, Main) ->
    receive
        {ping, Sender} ->
            Sender ! pong,
            worker(Others, Size, Left, Answered + 1, Main);
        pong when Left > 0 ->
            element(rand:uniform(Size), Others) ! {ping, self()},
            worker(Others, Size, Left - 1, Answered, Main);
        pong ->
            Main ! {add, 1},
            worker(Others, Size, Left, Answered, Main);
        stop ->
            Main ! {add, Answered}
    end.

trapezoidal(Size, Pieces, Left, Right) ->
    Me = self(),
    Width = (Right - Left) / Pieces,
    Share = Pieces div Size,
    [
        begin
            Start = Left + (Right - Left) / Size * I,
            spawn(fun() -> Me ! {add, area(0, Share, Start, Width, 0.0)} end)
        end
        || I <- lists:seq(0, Size - 1)
    ],
    round(sum(Size, 0.0) * 10000).
area(Count, Count, _, _, Sum) -> Sum;
area(I, Count, Start, Width, Sum) ->
    X = I * Width + Start,
    area(I + 1, Count, Start, Width, Sum + 0.5 * (height(X) + height(X + Width)) * Width).
height(X) -> math:sin(X * X * X - 1) / (X + 1) * math:sqrt(1 + math:exp(math:sqrt(2 * X))).

fibonacci(N) ->
    Me = self(),
    spawn(fun() -> adder(N, Me) end),
    sum(1, 0).
adder(N, Parent) when N =< 2 -> Parent ! {add, 1};
adder(N, Parent) ->
    Me = self(),
    spawn(fun() -> adder(N - 1, Me) end),
    spawn(fun() -> adder(N - 2, Me) end),
    Parent ! {add, sum(2, 0)}.

fibonacci(1, Last, _) -> Last;
fibonacci(N, Last, Previous) -> fibonacci(N - 1, Last + Previous, Last).
