"""Generated chat templates and what Jinja2 makes of them.

Usage: /usr/bin/python3 templates.py COUNT SEED [FILE...]
Prints a JSON line for each template with its variables: `text`, or `error` where Jinja2 refuses.
With FILES, renders the cases of those files instead: {"template": ..., "cases": [{"variables": ...}]}.
Jinja2 is set up as Hugging Face's transformers do it.
"""

import datetime
import json
import random
import sys

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.sandbox


class Generation(jinja2.ext.Extension):
    """{% generation %}, which only matters in training."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        call = self.call_method("_inside")
        return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _inside(self, caller):
        return caller()


def to_json(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                      sort_keys=sort_keys)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def environment():
    result = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True,
        extensions=[Generation, "jinja2.ext.loopcontrols"], cache_size=0)
    result.filters["tojson"] = to_json
    result.filters["fromjson"] = json.loads
    result.globals["raise_exception"] = raise_exception
    result.globals["strftime_now"] = lambda text: datetime.datetime(2026, 1, 31).strftime(text)
    return result


TEXTS = ["", "a", "Hello", "  two  words ", "x<y>&'z\"", "line\nline two\n", "Ünïcödé ß ŉ", "日本語 text",
         "<|im_start|>system", "12", "-3.5", "1e3", " 7 ", "a,b,,c", "\tTab\r\nend", "ΑΣ σς", "😀 smile",
         "CamelCase words-and_more", "[INST]", "back\\slash", "nul\u0001l", "\u00a0nbsp\u2003", "0x1f", "true",
         "the quick brown fox jumps over the lazy dog", "<think>\nhm\n</think>\n\nanswer", "ﬁne ǆ"]
INTS = [0, 1, 2, 3, -1, 5, 7, 10, 42, -17, 100, 255, 2**31, 2**53 + 1, 9007199254740993, -2**63]
FLOATS = [0.0, 1.0, -1.5, 2.5, 0.1, 1e-7, 1e16, 1e22, 123456.789, -0.5, 3.5, 1.5, 1e300, 0.30000000000000004]
NAMES = ["name", "role", "content", "items", "a", "b", "key", "values", "type", "x"]


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.locals = []
        self.loops = 0

    def pick(self, *choices):
        return self.random.choice(choices)

    def chance(self, probability):
        return self.random.random() < probability

    # Variables.

    def text(self):
        if self.chance(0.3):
            return "".join(self.random.choice(TEXTS) for _ in range(self.random.randint(1, 3)))
        return self.random.choice(TEXTS)

    def value(self, depth=0):
        kind = self.random.randint(0, 9)
        if depth > 2 or kind < 5:
            return self.pick(self.text(), self.text(), self.random.choice(INTS), self.random.choice(FLOATS),
                             True, False, None, 12345678901234567890)
        if kind < 7:
            return [self.value(depth + 1) for _ in range(self.random.randint(0, 4))]
        return {self.random.choice(NAMES): self.value(depth + 1) for _ in range(self.random.randint(0, 4))}

    def message(self):
        role = self.pick("system", "user", "assistant", "tool")
        result = {"role": role, "content": self.text()}
        if role == "assistant" and self.chance(0.5):
            if self.chance(0.4):
                result["content"] = None
            arguments = {self.random.choice(NAMES): self.value(1) for _ in range(2)}
            result["tool_calls"] = [{"id": "c1", "type": "function", "function": {
                "name": self.pick("weather", "search"), "arguments": arguments}}]
        if self.chance(0.2):
            result["reasoning_content"] = self.text()
        if self.chance(0.1):
            result["content"] = [{"type": "text", "text": self.text()}, {"type": "text", "text": "b"}]
        return result

    def variables(self):
        return {
            "messages": [self.message() for _ in range(self.random.randint(0, 5))],
            "tools": self.pick(None, [{"type": "function", "function": {"name": "f", "parameters": self.value()}}]),
            "bos_token": "<s>", "eos_token": "</s>",
            "add_generation_prompt": self.pick(True, False),
            "s": self.text(), "t": self.text(), "u": self.random.choice(TEXTS),
            "n": self.random.choice(INTS[:10]), "m": self.random.choice(INTS[:10]), "big": 12345678901234567890,
            "f": self.random.choice(FLOATS), "yes": True, "no": False, "null": None,
            "words": [self.text() for _ in range(self.random.randint(0, 4))],
            "numbers": [self.random.choice(INTS[:12]) for _ in range(self.random.randint(0, 5))],
            "mixed": [self.value(2) for _ in range(self.random.randint(0, 4))],
            "d": {self.random.choice(NAMES): self.value(1) for _ in range(self.random.randint(0, 5))},
            "people": [{"name": self.text(), "age": self.random.choice(INTS[:10]),
                        "tags": [self.text() for _ in range(2)]} for _ in range(self.random.randint(0, 4))],
        }

    # Expressions, each of a type that it has at least usually.

    def literal(self):
        text = self.random.choice(TEXTS)
        quote = self.pick("'", '"')
        result = ""
        for each in text:
            if each in (quote, "\\"):
                result += "\\" + each
            elif each == "\n":
                result += self.pick("\\n", "\n")
            elif each == "\t":
                result += "\\t"
            elif each == "\r":
                result += "\\r"
            elif ord(each) < 32:
                result += "\\x%02x" % ord(each)
            elif ord(each) > 127 and ord(each) < 0x10000 and self.chance(0.2):
                result += "\\u%04x" % ord(each)
            else:
                result += each
        return quote + result + quote

    def string(self, depth):
        if depth <= 0 or self.chance(0.15):
            return self.pick("s", "t", "u", self.literal(), self.literal(), "bos_token",
                             *[name for name, kind in self.locals if kind == "string"])
        d = depth - 1
        s = self.string
        kind = self.random.randint(0, 47)
        if kind < 3:
            return f"{s(d)} + {s(d)}"
        if kind < 6:
            return f"{self.any(d)} ~ {self.any(d)}"
        if kind == 6:
            return f"({s(d)} if {self.boolean(d)} else {s(d)})"
        if kind == 7:
            return f"({s(d)})[{self.slice(d)}]"
        if kind == 8:
            return f"({s(d)} * {self.pick('2', '0', '3', '-1')})"
        if kind < 13:
            method = self.pick("upper", "lower", "title", "capitalize", "strip", "lstrip", "rstrip", "swapcase")
            return f"({s(d)}).{method}()"
        if kind < 15:
            return f"({s(d)}).{self.pick('strip', 'lstrip', 'rstrip')}({self.pick(self.literal(), 'none', s(0))})"
        if kind < 17:
            count = self.pick("", ", 1", ", -1", ", 0", ", 2")
            return f"({s(d)}).replace({self.literal()}, {s(d)}{count})"
        if kind == 17:
            return f"({s(d)}).{self.pick('removeprefix', 'removesuffix')}({s(0)})"
        if kind == 18:
            return f"""({s(d)}).{self.pick('center', 'ljust', 'rjust')}({self.pick('5', '20', '0')}{self.pick('', ', "*"')})"""
        if kind == 19:
            return f"({s(d)}).zfill({self.pick('3', '12')})"
        if kind < 22:
            return f"({s(d)}).{self.pick('split', 'rsplit')}({self.separator()})[{self.pick('0', '-1', '1')}]"
        if kind == 22:
            return f"({s(d)}).join({self.strings(d)})"
        if kind < 27:
            return f"{s(d)}|{self.pick('trim', 'upper', 'lower', 'title', 'capitalize', 'string')}"
        if kind == 27:
            return f"({s(d)})|trim({self.literal()})"
        if kind == 28:
            return f"({s(d)})|replace({self.any(0)}, {self.any(0)}{self.pick('', ', 1')})"
        if kind < 32:
            options = self.pick("", "", "(indent=2)", "(indent=4, sort_keys=true)", "(ensure_ascii=true)",
                                "(separators=(',', ':'))", "(indent=0)", "(indent='--')")
            return f"({self.any(d)})|tojson{options}"
        if kind < 34:
            return f"({self.list(d)})|join({self.pick('', self.literal())})"
        if kind == 34:
            return f"""({s(d)})|indent({self.pick('', '2', '2, true', 'first=true', '3, blank=true', '"> "')})"""
        if kind == 35:
            return f"""({s(d)})|truncate({self.pick('5', '9, true', '12, false, "!"', '5, leeway=0', '20')})"""
        if kind == 36:
            return f"({s(d)})|center({self.pick('5', '30')})"
        if kind == 37:
            spec = self.pick("%s", "%r", "<%5s>", "%-8s|", "%.3s", "%%%s", "%10.2s")
            return f"'{spec}' % {self.pick('s', 'n', 'f', '(t,)', 'd', 'null')}"
        if kind == 38:
            spec = self.pick("%d", "%5d", "%05d", "%-5d|", "%+d", "%x", "%X", "%#x", "%o", "%.1f", "%8.3f", "%e", "%g", "%i",
                             "% d", "%c", "%.4d", "%E", "%G")
            return f"'{spec}' % {self.number(0)}"
        if kind == 39:
            return f"'%s and %s'|format({self.any(0)}, {self.any(0)})"
        if kind == 40:
            return f"'%(a)s-%(b)d'|format(a={s(0)}, b={self.integer(0)})"
        if kind == 41:
            return f"'{self.pick('{}', '{0}-{1}', '{a}', '{0:>8}', '{1:05d}', '{{{}}}', '{:<4}|{}')}'.format({s(0)}, n, a=t)"
        if kind == 42:
            return f"({self.strings(d)})|{self.pick('first', 'last', 'min', 'max')}"
        if kind == 43:
            return f"({s(d)})|reverse"
        if kind == 44:
            return f"({self.dict(d)}).get({s(0)}, {s(d)})"
        if kind == 45:
            return f"({s(d)}).{self.pick('partition', 'rpartition')}({self.literal()})[{self.pick('0', '1', '2')}]"
        if kind == 46:
            return f"{self.name_of_undefined()}|default({s(d)}{self.pick('', ', true')})"
        return f"({s(d)}).expandtabs({self.pick('', '4')})"

    def name_of_undefined(self):
        return self.pick("missing", "d.missing", "messages[99]", "d['nope']", "null.x", "s.foo", "loop")

    def separator(self):
        return self.pick("", "' '", "','", "'\\n'", "none, 1", "' ', 1", "sep=','", "maxsplit=1", "'o', 2", "'</think>'")

    def slice(self, depth):
        def bound():
            return self.pick("", "", "1", "-1", "2", "-2", "0", "100", "-100")
        step = self.pick("", "", "", ":", ":2", ":-1", ":-2", ":1")
        return f"{bound()}:{bound()}{step}"

    def integer(self, depth):
        if depth <= 0 or self.chance(0.2):
            return self.pick("n", "m", "0", "1", "2", "3", "7", "-4", "10", "1_000", "0x1F", "0b101", "0o17",
                             *[name for name, kind in self.locals if kind == "integer"])
        d = depth - 1
        i = self.integer
        kind = self.random.randint(0, 19)
        if kind < 5:
            return f"({i(d)} {self.pick('+', '-', '*', '//', '%')} {i(d)})"
        if kind == 5:
            # Not of a negative constant: Jinja2 folds it and then takes the power first.
            return f"({self.pick('n', 'm', '3', '10', '-n')}) ** {self.pick('2', '0', '3')}"
        if kind == 6:
            return f"-{i(0)}"
        if kind < 10:
            return f"({self.pick(self.string, self.list, self.dict)(d)})|{self.pick('length', 'count')}"
        if kind < 12:
            return f"({self.any(d)})|int{self.pick('', '(5)', '(default=-1)')}"
        if kind == 12:
            return f"({self.string(d)})|int(base=16)"
        if kind == 13:
            return f"({self.string(d)}).{self.pick('find', 'rfind', 'count')}({self.string(0)}{self.pick('', ', 1', ', 1, 4', ', -3')})"
        if kind == 14:
            return f"({i(d)})|abs"
        if kind == 15:
            return f"(numbers|{self.pick('sum', 'max', 'min', 'first', 'last')})"
        if kind == 16:
            return f"""people|{self.pick('sum(attribute="age")', 'sum("age", 10)')}"""
        if kind == 17:
            return f"({self.string(d)})|wordcount"
        if kind == 18:
            return f"({i(d)} if {self.boolean(d)} else {i(d)})"
        return f"({self.list(d)}).{self.pick('count', 'index')}({self.any(0)})"

    def number(self, depth):
        kind = self.random.randint(0, 9)
        if kind < 4:
            return self.integer(depth)
        if depth <= 0 or kind < 6:
            return self.pick("f", "f", "1.5", "2e3", "0.1", "1e-7", "-2.5", "1_0.5", "2E+2")
        d = depth - 1
        if kind == 6:
            return f"({self.number(d)} {self.pick('+', '-', '*', '/', '//', '%')} {self.number(d)})"
        if kind == 7:
            return f"({self.any(d)})|float{self.pick('', '(1.5)')}"
        if kind == 8:
            return f"""({self.number(d)})|round{self.pick('', '(1)', '(2)', '(1, "floor")', '(0, "ceil")', '(precision=3)')}"""
        return f"({self.number(d)})|abs"

    def boolean(self, depth):
        if depth <= 0 or self.chance(0.15):
            return self.pick("yes", "no", "true", "False", "add_generation_prompt", "none", "s", "messages",
                             *[name for name, kind in self.locals if kind == "boolean"])
        d = depth - 1
        b = self.boolean
        kind = self.random.randint(0, 15)
        if kind < 2:
            return f"({b(d)} {self.pick('and', 'or')} {b(d)})"
        if kind == 2:
            return f"not {b(d)}"
        if kind < 5:
            return f"({self.any(d)} {self.pick('==', '!=')} {self.any(d)})"
        if kind == 5:
            return f"({self.number(d)} {self.pick('<', '<=', '>', '>=', '==')} {self.number(d)})"
        if kind == 6:
            return f"({self.string(d)} {self.pick('<', '>=', '==')} {self.string(d)})"
        if kind == 7:
            return f"({self.string(0)} {self.pick('in', 'not in')} {self.string(d)})"
        if kind == 8:
            return f"({self.any(0)} {self.pick('in', 'not in')} {self.list(d)})"
        if kind == 9:
            return f"({self.string(0)} {self.pick('in', 'not in')} {self.dict(d)})"
        if kind < 13:
            test = self.pick("defined", "undefined", "none", "string", "number", "integer", "float", "boolean", "mapping",
                             "sequence", "iterable", "true", "false", "lower", "upper", "callable")
            return f"({self.pick(self.any(d), self.name_of_undefined())} is {self.pick('', 'not ')}{test})"
        if kind == 13:
            test = self.pick("odd", "even", "divisibleby 3", "divisibleby(2)", "eq 1", "gt 2", "lessthan(3)", "in numbers",
                             "sameas 1", "ne n")
            return f"({self.integer(d)} is {self.pick('', 'not ')}{test})"
        if kind == 14:
            return f"""({self.string(d)}).{self.pick('startswith', 'endswith')}({self.pick(self.string(0), '(s, "a")')})"""
        method = self.pick("isdigit", "isalpha", "isalnum", "isspace", "isupper", "islower", "istitle", "isidentifier",
                           "isascii", "isprintable", "isdecimal")
        return f"({self.string(d)}).{method}()"

    def strings(self, depth):
        if depth <= 0:
            return self.pick("words", "['x', 'b', 'A']", "[s, t]", "people|map(attribute='name')|list")
        return self.pick(f"({self.string(depth - 1)}).split({self.separator()})", f"words + [{self.string(depth - 1)}]",
                         f"({self.string(depth - 1)}).splitlines({self.pick('', 'true')})", "words|sort", "d|list",
                         f"words|map('{self.pick('upper', 'trim', 'title')}')|list", "words|unique|list", "words|reverse|list",
                         "messages|map(attribute='role')|list", f"({self.string(depth - 1)})|list", "d.keys()|list")

    def list(self, depth):
        if depth <= 0 or self.chance(0.15):
            return self.pick("words", "numbers", "mixed", "messages", "people", "[]", "(1, 2)", "[1, 'a', none]",
                             *[name for name, kind in self.locals if kind == "list"])
        d = depth - 1
        kind = self.random.randint(0, 17)
        if kind == 0:
            return f"[{self.any(d)}, {self.any(d)}]"
        if kind == 1:
            return f"({self.list(d)} + {self.pick('[1]', 'words', '[]')})"
        if kind == 2:
            return f"({self.list(d)})[{self.slice(d)}]"
        if kind == 3:
            return f"range({self.pick('3', '1, 4', '5, 0, -2', '0', 'n')}){self.pick('', '|list')}"
        if kind == 4:
            return f"({self.dict(d)}).{self.pick('keys', 'values', 'items')}(){self.pick('', '|list')}"
        if kind == 5:
            return f"""({self.dict(d)})|dictsort{self.pick('', '(true)', '(by="value")', '(reverse=true)')}"""
        if kind == 6:
            return f"({self.dict(d)})|items|list"
        if kind == 7:
            return f"""people|{self.pick('select', 'reject')}attr('{self.pick('age', 'name', 'nope')}'{self.pick('', ', "eq", 1', ', "gt", 2', ', "defined"')})|list"""
        if kind == 8:
            return f"messages|selectattr('role', '{self.pick('equalto', '==', 'eq', 'ne')}', '{self.pick('user', 'tool')}')|list"
        if kind == 9:
            return f"numbers|{self.pick('select', 'reject')}('{self.pick('odd', 'even', 'number', 'string')}')|list"
        if kind == 10:
            return f"numbers|{self.pick('sort', 'sort(reverse=true)', 'unique|list', 'reverse|list')}"
        if kind == 11:
            return f"people|sort(attribute='{self.pick('age', 'name', 'age,name')}'{self.pick('', ', reverse=true', ', case_sensitive=true')})"
        if kind == 12:
            return f"people|map(attribute='{self.pick('age', 'tags.0', 'nope', 'name')}'{self.pick('', ', default=0')})|list"
        if kind == 13:
            return f"({self.list(d)})|map('{self.pick('string', 'tojson', 'int', 'length', 'default')}')|list"
        if kind == 14:
            return f"({self.list(d)})|batch({self.pick('2', '3, 0')})|list"
        if kind == 15:
            return f"({self.strings(d)})"
        if kind == 16:
            return f"({self.list(d)} * {self.pick('2', '0')})"
        return f"({self.list(d)})|list"

    def dict(self, depth):
        if depth <= 0 or self.chance(0.3):
            return self.pick("d", "d", "{}", "{'a': 1, 'b': s}", "{1: 2, true: 'x'}", "messages[0]", "people[0]")
        d = depth - 1
        return self.pick(f"{{'a': {self.any(d)}, {self.literal()}: {self.any(d)}}}", f"dict(x={self.any(d)}, y=1)",
                         f"dict({self.dict(d)}, z={self.any(d)})", f"dict([('k', {self.any(d)})])")

    def any(self, depth):
        kind = self.random.randint(0, 13)
        if kind < 4:
            return self.string(depth)
        if kind < 6:
            return self.number(depth)
        if kind == 6:
            return self.boolean(depth)
        if kind == 7:
            return self.list(depth)
        if kind == 8:
            return self.dict(depth)
        if kind == 9:
            return self.pick("none", "null", "true")
        if kind == 10:
            return self.pick("messages[0].content", "messages[-1]['role']", "d.a", "d['b']", "mixed[0]", "people[0].tags[1]",
                             "tools[0].function.parameters", "d.key.name", "words[1]", "s[0]", "numbers.0", "big", "d.x")
        if kind == 11:
            return f"({self.any(0)} {self.pick('and', 'or')} {self.any(0)})"
        if kind == 12 and self.loops:
            return "loop." + self.pick("index", "index0", "first", "last", "length", "revindex", "revindex0", "previtem",
                                       "nextitem", "depth", "cycle('a', 'b')", "changed(s)")
        return self.pick(*[name for name, _ in self.locals], self.string(depth))

    # Statements.

    def data(self):
        return "".join(self.random.choice(
            ["\n", "  ", "text", " ", "\t", "<b>", "\n\n", "    ", "{ ", "} ", "% ", "# ", "é", "\r\n", "a\n  "])
            for _ in range(self.random.randint(0, 4)))

    def tag(self, content):
        return "{%" + self.pick("", "", "-", "+") + " " + content + " " + self.pick("", "", "-", "+") + "%}"

    def output(self, content):
        # What is marked as safe HTML would escape what it is joined with, which no chat template wants.
        if self.chance(0.1):
            content = f"({content})|{self.pick('e', 'safe', 'escape')}"
        content = content if not content.endswith("}") else content + " "
        return "{{" + self.pick("", "", "-") + " " + content + " " + self.pick("", "", "-") + "}}"

    def body(self, depth, count=3):
        mark = len(self.locals)
        result = "".join(self.data() + self.statement(depth) for _ in range(self.random.randint(0, count)))
        del self.locals[mark:]
        return result + self.data()

    def set(self):
        kind = self.pick("string", "integer", "boolean", "list")
        name = self.pick("v1", "v2", "v3")
        value = getattr(self, kind)(2)
        self.locals.append((name, kind))
        return self.tag(f"set {name} = {value}")

    def loop(self, depth):
        source, target = self.pick(
            ("messages", "message"), ("words", "w"), ("d.items()", "k, v"), ("d|dictsort", "k, v"), ("numbers", "i"),
            ("people", "p"), (self.list(1), "e"), ("range(3)", "i"), ("d", "k"), (self.string(1), "c"), ("missing", "e"),
            ("messages[::-1]", "message"))
        condition = f" if {self.boolean(1)}" if self.chance(0.2) else ""
        mark = len(self.locals)
        self.locals += [(name.strip(), "any") for name in target.split(",")]
        self.loops += 1
        body = self.body(depth - 1)
        if self.chance(0.2):
            body += self.tag(f"if {self.boolean(1)}") + self.tag(self.pick("break", "continue")) + self.tag("endif") + self.data()
        self.loops -= 1
        del self.locals[mark:]
        otherwise = self.tag("else") + self.body(depth - 1, 1) if self.chance(0.2) else ""
        return self.tag(f"for {target} in {source}{condition}") + body + otherwise + self.tag("endfor")

    def macro(self, depth):
        name = self.pick("mac", "mac2")
        parameters = self.pick("", "a", "a, b=2", "a='x', b=none", "p, q")
        mark, loops = self.locals, self.loops
        self.locals = [(each.split("=")[0].strip(), "any") for each in parameters.split(",") if each]
        self.loops = 0
        body = self.body(depth - 1) + self.pick("", "{{ varargs }}", "{{ kwargs }}", "{{ caller() if caller else '' }}")
        self.locals, self.loops = mark, loops
        call = f"""{name}({self.pick('', '1', 's, t', 's, b=3', 'a=2', '*words', '**{"a": 5}')})"""
        use = self.output(self.pick(call, f"{call}|trim", f"{call} ~ '!'"))
        if self.chance(0.3):
            use = self.tag(f"call {call}") + self.data() + self.tag("endcall")
        return self.tag(f"macro {name}({parameters})") + body + self.tag("endmacro") + self.data() + use

    def statement(self, depth):
        kind = self.random.randint(0, 21)
        if depth <= 0 or kind < 7:
            return self.output(self.any(3))
        if kind < 10:
            result = self.tag(f"if {self.boolean(2)}") + self.body(depth - 1)
            if self.chance(0.3):
                result += self.tag(f"elif {self.boolean(2)}") + self.body(depth - 1, 1)
            if self.chance(0.4):
                result += self.tag("else") + self.body(depth - 1, 1)
            return result + self.tag("endif")
        if kind < 14:
            return self.loop(depth)
        if kind < 16:
            return self.set()
        if kind == 16:
            return self.tag(self.pick("set block", "set block | trim", "set block | upper | replace('A', 'b')")) + \
                self.body(depth - 1) + self.tag("endset") + "{{ block }}"
        if kind == 17:
            return self.macro(depth)
        if kind == 18:
            return self.tag(f"""filter {self.pick('upper', 'trim', 'indent(2)', 'replace("a", "b")|lower')}""") + \
                self.body(depth - 1) + self.tag("endfilter")
        if kind == 19:
            result = self.tag(f"set ns = namespace(count=0, text={self.string(1)})")
            return result + self.tag("for q in range(4)") + self.tag("set ns.count = ns.count + q") + \
                self.tag(f"set ns.text = ns.text ~ {self.any(1)}") + self.tag("endfor") + "{{ ns.count }}{{ ns.text }}"
        if kind == 20:
            return self.pick("{#- a comment -#}", "{# two\n lines #}\n", "{#+ x #}", "{% raw %} {{ x }} {% endraw %}",
                             "{%- raw -%}\n {% a %} {%- endraw +%}\n", "  {# c #}\n", "{% generation %}g{% endgeneration %}",
                             "{{ strftime_now('%d %b %Y') }}", "{{ ('a', 1,) }}", "{% set a1, a2 = 'xy' %}{{ a2 }}{{ a1 }}",
                             "{% with w1 = s, w2 = 2 %}{{ w1 }}{{ w2 }}{% endwith %}", "{{ raise_exception('no') if no }}",
                             "{{ 'a' 'b' }}", "{{ 1 if no }}", "{{ 1 < 2 < 3 }}", "{{ not yes is defined }}",
                             "{{ d.get('a') }}", "{{ -n ** 2 }}", "{{ 2 ** -1 }}", "{{ [1, 2][0] }}",
                             "{{ '{\"a\": [1.0, 1e-7, 12345678901234567890]}'|fromjson }}", "{{ big }}", "{{ -big }}",
                             "{% for x in [1, [2, [3]]] recursive %}{{ loop(x) if x is iterable else x }}{% endfor %}")
        return self.tag("if messages") + self.output("messages[0]." + self.pick("role", "content", "tool_calls")) + self.tag("endif")

    def template(self):
        self.locals, self.loops = [], 0
        result = self.body(3, 5)
        # A slip of the pen now and then: what Jinja2 does not read, nobody should.
        if self.chance(0.08) and result:
            at = self.random.randrange(len(result))
            result = result[:at] + self.pick("", "{", "}", "(", "|", "'", ".", "-", "[", "%", "is", " ") + result[at + 1:]
        return result


def render(jinja, template, variables):
    try:
        text = jinja.from_string(template).render(**variables)
        text.encode()
        # Addresses and iterators have no text that could be equal.
        if any(each in text.lower() for each in (" at 0x", "<function", "<built-in", "nonymous>", "<macro")):
            return None
        return {"text": text}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def main():
    jinja = environment()
    if len(sys.argv) > 3:
        for path in sys.argv[3:]:
            with open(path, encoding="utf-8") as file:
                golden = json.load(file)
            for case in golden["cases"]:
                outcome = render(jinja, golden["template"], case["variables"])
                print(json.dumps({"template": golden["template"], "variables": case["variables"], **outcome}))
        return
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    generator = Generator(seed)
    while count > 0:
        template = generator.template()
        variables = generator.variables()
        outcome = render(jinja, template, variables)
        if outcome is None:
            continue
        count -= 1
        print(json.dumps({"template": template, "variables": variables, **outcome}))


if __name__ == "__main__":
    main()
