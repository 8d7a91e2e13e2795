#!/usr/bin/env python3
"""No two rooms define a type of the same full name: the linker would take one destructor for both, in silence, and a
program that has both rooms dies of it.   check_one_definition.py ROOT"""
import collections
import pathlib
import re
import sys

TOKENS = re.compile(r"namespace\s*([\w:]*)\s*\{|(?:struct|class|enum class)\s+([\w:]+)(?:\s+final)?(?:\s*:\s*[^{};()]*)?\s*\{"
                    r"|\{|\}")
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'', re.DOTALL)


def defined_types(text):
    """Full names of the types defined at namespace level, without those of unnamed namespaces."""
    found, scopes = [], []
    for token in TOKENS.finditer(NOISE.sub("", text)):
        word = token.group(0)
        if word == "}":
            if scopes:
                scopes.pop()
        elif word.startswith("namespace"):
            scopes.append(token.group(1) or None)
        else:
            name = token.group(2)
            if name and "::" not in name and scopes and all(scopes):
                found.append("::".join(scopes) + "::" + name)
            scopes.append("")  # not a namespace: nothing inside counts
    return found


def clashes(sources):
    """`sources`: (room, text). Names with more than one room."""
    rooms = collections.defaultdict(set)
    for room, text in sources:
        for name in defined_types(text):
            rooms[name].add(room)
    return {name: sorted(where) for name, where in rooms.items() if len(where) > 1}


def check_that_it_bites():
    record = "namespace a::b {\nstruct Record { int x; };\n}"
    unnamed = "namespace a::b {\nnamespace {\nstruct Record { int y; };\n}\n}"
    inner = "namespace a::b {\nclass Other {\n struct Record { int z; };\n};\nstruct Other::Record2 {};\n}"
    assert clashes([("one", record), ("two", record)]) == {"a::b::Record": ["one", "two"]}
    assert not clashes([("one", record), ("one", record)])
    assert not clashes([("one", record), ("two", unnamed), ("three", inner)])


def main():
    check_that_it_bites()
    root = pathlib.Path(sys.argv[1])
    files = [file for top in ("cluster", "engine", "models", "ui") for pattern in ("*.h", "*.cpp")
             for file in (root / top).rglob(pattern)]
    assert files, f"no sources below {root}: a check of nothing is no check"
    found = clashes((str(file.relative_to(root).parent), file.read_text()) for file in files)
    for name, rooms in sorted(found.items()):
        print(f"{name} is defined in {' and in '.join(rooms)}")
    print(f"{len(files)} files, {len(found)} names defined twice")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
