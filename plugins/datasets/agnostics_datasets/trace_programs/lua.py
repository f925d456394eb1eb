"""Small programs in Lua."""

from __future__ import annotations

from agnostics_datasets.trace_programs.family import ProgramFamily, TracedLanguage, numbers, words


def _power(text: str, k: int, e: int) -> str:
    return f"{pow(int(text), e, k)}\n"


def _gcd(text: str, k: int) -> str:
    a, b = int(text), k
    while b:
        a, b = b, a % b
    return f"{a}\n"


def _digits(text: str, k: int) -> str:
    return f"{sum(map(int, text.strip())) * k}\n"


def _collatz(text: str, k: int) -> str:
    n, steps = int(text), 0
    while n != 1 and steps < k:
        n, steps = (n // 2 if n % 2 == 0 else 3 * n + 1), steps + 1
    return f"{n} {steps}\n"


def _fibonacci(text: str, k: int) -> str:
    def fib(n: int) -> int:
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    return f"{fib(int(text)) + k}\n"


def _reverse(text: str, w: str) -> str:
    return text.strip()[::-1] + w + "\n"


def _letters(text: str, w: str) -> str:
    return f"{text.count(w)}\n"


def _multiples(text: str, k: int) -> str:
    return " ".join(str(i) for i in range(1, int(text) + 1) if i % k == 0) + "\n"


def _largest(text: str, k: int) -> str:
    return f"{max(int(word) % k for word in text.split())}\n"


def _swapped(text: str, k: int) -> str:
    values = [int(word) for word in text.split()]
    for i in range(len(values) - 1):
        if values[i] > values[i + 1]:
            values[i], values[i + 1] = values[i + 1], values[i]
    return " ".join(str(value + k) for value in values) + "\n"


def _counter(text: str, k: int) -> str:
    return "".join(f"{k * i}\n" for i in range(1, int(text) + 1))


def _shifted(text: str, k: int) -> str:
    return "".join(chr((ord(letter) - 97 + k) % 26 + 97) for letter in text.strip()) + "\n"


FAMILIES = (
    ProgramFamily(
        "power",
        "local function power(b, e)\n  local r = 1\n  for i = 1, e do\n    r = r * b % @k@\n  end\n  return r\nend\n\n"
        'local n = io.read("*n")\nprint(power(n, @e@))\n',
        {"k": range(5, 15), "e": range(2, 5)},
        numbers(range(2, 10)),
        _power,
    ),
    ProgramFamily(
        "gcd",
        'local a, b = io.read("*n"), @k@\nwhile b > 0 do\n  a, b = b, a % b\nend\nprint(a)\n',
        {"k": range(6, 36)},
        numbers(range(10, 60)),
        _gcd,
    ),
    ProgramFamily(
        "digits",
        'local s = io.read("*l")\nlocal sum = 0\nfor d in s:gmatch("%d") do\n  sum = sum + tonumber(d)\nend\n'
        "print(sum * @k@)\n",
        {"k": range(2, 32)},
        numbers(range(10, 9999)),
        _digits,
    ),
    ProgramFamily(
        "collatz",
        'local n = io.read("*n")\nlocal steps = 0\nwhile n ~= 1 and steps < @k@ do\n'
        "  if n % 2 == 0 then\n    n = n / 2\n"
        '  else\n    n = 3 * n + 1\n  end\n  steps = steps + 1\nend\nprint(n .. " " .. steps)\n',
        {"k": range(2, 7)},
        numbers(range(2, 40)),
        _collatz,
    ),
    ProgramFamily(
        "fibonacci",
        "local function fib(n)\n  if n < 2 then\n    return n\n  end\n  local a = fib(n - 1)\n  local b = fib(n - 2)\n"
        '  return a + b\nend\n\nlocal r = fib(io.read("*n"))\nprint(r + @k@)\n',
        {"k": range(1, 31)},
        numbers(range(1, 4)),
        _fibonacci,
    ),
    ProgramFamily(
        "reverse",
        'local s = io.read("*l")\nlocal r = ""\nfor i = #s, 1, -1 do\n  r = r .. s:sub(i, i)\nend\nprint(r .. "@w@")\n',
        {"w": ("!", "x", "-", "ab", "zz", "?", "om", "0", "1", "end")},
        words("abcdefgh", range(2, 6)),
        _reverse,
    ),
    ProgramFamily(
        "letters",
        'local s = io.read("*l")\nlocal n = 0\nfor i = 1, #s do\n  if s:sub(i, i) == "@w@" then\n'
        "    n = n + 1\n  end\nend\n"
        "print(n)\n",
        {"w": tuple("abcde")},
        words("abcde", range(3, 7)),
        _letters,
    ),
    ProgramFamily(
        "multiples",
        'local n = io.read("*n")\nlocal t = {}\nfor i = 1, n do\n  if i % @k@ == 0 then\n'
        "    t[#t + 1] = i\n  end\nend\n"
        'print(table.concat(t, " "))\n',
        {"k": range(2, 7)},
        numbers(range(6, 10)),
        _multiples,
    ),
    ProgramFamily(
        "largest",
        'local s = io.read("*l")\nlocal best = 0\nfor w in s:gmatch("%S+") do\n  local m = tonumber(w) % @k@\n'
        "  if m > best then\n    best = m\n  end\nend\nprint(best)\n",
        {"k": range(3, 23)},
        numbers(range(1, 60), range(1, 60), range(1, 60), range(1, 60)),
        _largest,
    ),
    ProgramFamily(
        "swapped",
        'local t = {}\nfor w in io.read("*l"):gmatch("%S+") do\n  t[#t + 1] = w + @k@\nend\nfor i = 1, #t - 1 do\n'
        "  if t[i] > t[i + 1] then\n    t[i], t[i + 1] = t[i + 1], t[i]\n  end\nend\n"
        'print(table.concat(t, " "))\n',
        {"k": range(1, 21)},
        numbers(range(1, 9), range(1, 9), range(1, 9), range(1, 9)),
        _swapped,
    ),
    ProgramFamily(
        "counter",
        "local function counter(step)\n  local c = 0\n  return function()\n    c = c + step\n"
        "    return c\n  end\nend\n\n"
        'local n = io.read("*n")\nlocal following = counter(@k@)\nfor i = 1, n do\n  print(following())\nend\n',
        {"k": range(2, 32)},
        numbers(range(2, 5)),
        _counter,
    ),
    ProgramFamily(
        "shifted",
        'local s = io.read("*l")\nlocal r = ""\nfor i = 1, #s do\n  local b = s:byte(i) - 97\n'
        "  r = r .. string.char((b + @k@) % 26 + 97)\nend\nprint(r)\n",
        {"k": range(1, 26)},
        words("abcdefghijklmnopqrstuvwxyz", range(2, 5)),
        _shifted,
    ),
)
PROGRAMS = TracedLanguage(
    "lua",
    FAMILIES,
    {
        "text": (
            "local function twice(x)\n  local y = x * 2\n  return y\nend\n\n"
            'local n = io.read("*n")\nif n > 3 then\n  n = twice(n)\nend\nprint(n)\n'
        ),
        "input": "4\n",
        "output": "8\n",
        "thought": (
            "n is read as 4. It is greater than 3, so twice is called with x = 4: y is 8, which is returned.\n"
            "n is 8, and is printed."
        ),
    },
)
