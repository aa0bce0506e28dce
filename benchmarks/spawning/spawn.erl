%% Processes, each blocked in a receive. Needs erl +P with more than their number.
-module(spawn).
-export([main/1]).

main([Argument]) ->
    N = list_to_integer(atom_to_list(Argument)),
    Start = erlang:monotonic_time(nanosecond),
    All = make(N, []),
    Took = (erlang:monotonic_time(nanosecond) - Start) / N,
    io:format("RESULT\tspawn\terlang\t\t~.1f\tns/process~n", [Took]),
    halt(length(All) - N).

make(0, All) -> All;
make(N, All) -> make(N - 1, [spawn(fun() -> receive _ -> ok end end) | All]).
