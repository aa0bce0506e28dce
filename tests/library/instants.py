"""Writes random instants in zones, one JSON array a line, and their local times by Python's zoneinfo: for
`cargo xtask library instants`. Exit code 3: there are no rules of zones.

The rules of the machine and those of Python may be of different years. So zones whose law changes often for times to come,
such as that of Morocco, are not among these."""
import json, random, sys
from datetime import datetime, timedelta, timezone
try:
    from zoneinfo import ZoneInfo
    names = ["Africa/Cairo", "Africa/Monrovia", "America/Caracas", "America/New_York", "America/Santiago",
             "America/Sao_Paulo", "America/St_Johns", "Antarctica/Troll", "Asia/Gaza", "Asia/Kathmandu", "Asia/Kolkata",
             "Asia/Pyongyang", "Asia/Tehran", "Australia/Lord_Howe", "Europe/Berlin", "Europe/Dublin", "Europe/Moscow",
             "Pacific/Apia", "Pacific/Chatham", "UTC"]
    zones = [ZoneInfo(name) for name in names]
except Exception as problem:
    print(problem, file=sys.stderr)
    sys.exit(3)
number, seed = int(sys.argv[1]), sys.argv[2]
source = random.Random(seed)
epoch = datetime(1970, 1, 1, tzinfo=timezone.utc)
first, last = int(datetime(1850, 1, 1, tzinfo=timezone.utc).timestamp()), int(
    datetime(2150, 1, 1, tzinfo=timezone.utc).timestamp())
for _ in range(number):
    seconds = source.randint(first, last) if source.random() < 0.5 else source.randint(0, 2000000000)
    for zone in zones:
        local = (epoch + timedelta(seconds=seconds)).astimezone(zone)
        wall = local.replace(tzinfo=None) + timedelta(minutes=source.randint(-90, 90))
        # The first of two times; a time that the clocks skip is taken by the rules before.
        back = wall.replace(tzinfo=zone, fold=0)
        print(json.dumps([seconds, zone.key,
                          [local.year, local.month, local.day, local.hour, local.minute, local.second],
                          local.utcoffset().total_seconds(), local.isocalendar()[:3], local.timetuple().tm_yday,
                          [wall.year, wall.month, wall.day, wall.hour, wall.minute, wall.second],
                          (back - epoch).total_seconds()]))
