"""Programs in Python, and what they print: what a tracer must leave as it is."""

from __future__ import annotations

PROGRAMS = {
    "generator": (
        """\
def g(n):
    for i in range(n):
        x = yield i
    return 7
it = g(2)
print(list(it), sum(g(3)))
""",
        "[0, 1] 3\n",
    ),
    "closed generator": (
        """\
def g():
    try:
        yield 1
    finally:
        print('closed')
it = g()
next(it)
it.close()
""",
        "closed\n",
    ),
    "coroutines": (
        """\
import asyncio
async def a(n):
    await asyncio.sleep(0)
    return n
async def m():
    print(await asyncio.gather(a(1), a(2)))
asyncio.run(m())
""",
        "[1, 2]\n",
    ),
    "thread": (
        """\
import threading
r = []
t = threading.Thread(target=lambda: r.append(1))
t.start()
t.join()
print(r)
""",
        "[1]\n",
    ),
    "exec and eval": (
        """\
n = 2
exec('m = n + 1\\nfor k in range(3): m += k')
print(m, eval('m * 2'))
""",
        "6 12\n",
    ),
    "code with the name of the file": (
        """\
c = compile('x = 1\\n' * 50, __file__, 'exec')
exec(c)
print(x)
""",
        "1\n",
    ),
    "comprehensions": (
        """\
x = [[j for j in range(i)] for i in range(3)]
y = {k: {z for z in 'ab' if z == k} for k in 'ab'}
print(x, y)
""",
        "[[], [0], [0, 1]] {'a': {'a'}, 'b': {'b'}}\n",
    ),
    "closure": (
        """\
def f(a, *b, c=1, **d):
    def g():
        nonlocal a
        a += 1
        return a
    g()
    return a, b, c, d
print(f(1, 2, e=3))
""",
        "(2, (2,), 1, {'e': 3})\n",
    ),
    "fork": (
        """\
import os
pid = os.fork()
if pid == 0:
    x = 1
    print('child', flush=True)
    os._exit(0)
os.waitpid(pid, 0)
print('parent')
""",
        "child\nparent\n",
    ),
    "names of a module": (
        """\
globals()['é' * 3] = 1
globals()[5] = 2
del globals()[5]
print(ééé)
""",
        "1\n",
    ),
    "cycles with finalizers": (
        """\
import gc
class D:
    def __del__(self): self.x = [1]
for _ in range(50):
    d = D()
    d.d = d
    del d
gc.collect()
print('ok')
""",
        "ok\n",
    ),
    "a finalizer that empties a list": (
        """\
l = [1]
class D:
    def __init__(s): l.append(s)
    def __del__(s): l.clear()
D()
l.clear()
print(l)
""",
        "[]\n",
    ),
    "few digits": (
        """\
import sys
sys.set_int_max_str_digits(640)
n = 10 ** 700
print(n % 7)
""",
        "4\n",
    ),
    "match": (
        """\
match [1, {'a': 2}]:
    case [x, {'a': y}]:
        print(x, y)
""",
        "1 2\n",
    ),
}
