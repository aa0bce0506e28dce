-module(idle).
-export([main/1]).

main(_) ->
    [spawn(fun() -> timer:sleep(3600 * 1000) end) || _ <- lists:seq(1, 100)],
    [spawn(fun() -> receive never -> ok end end) || _ <- lists:seq(1, 100)],
    timer:sleep(100),
    io:format("everybody waits~n"),
    receive never -> ok end.
