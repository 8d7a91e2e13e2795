#!/usr/bin/env python3
"""Requests made to stall or kill a server, each beside a client that only wants one token.

usage: hostile_requests.py ENGINE MODEL EMBEDDING_MODEL [CASE]   (the third is not used here)
Each case says which statuses are right. Besides, in each: the runner and the front stay the same processes, the other
client is answered all the time, and afterwards nothing is left running. 77 without the model.
"""

import json
import os
import sys
import threading
import time

from engine_under_attack import Engine, wait_for

PATIENCE = 25  # seconds for the client beside; generous, as tests run beside others: what we look for took minutes


def schema(value):
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": value}}}


def grammar(**kinds):
    return {"structured_outputs": kinds}


def raw(path, text):
    return lambda engine: engine.ask(path, text if isinstance(text, bytes) else text.encode())


def completion(**fields):
    return lambda engine: engine.complete(**fields)


def chat(**fields):
    return lambda engine: engine.chat(**fields)


def nested(count):
    return "[" * count + "]" * count


def ambiguous_schema():
    names = [f"d{i}" for i in range(9)]
    rules = {name: {"anyOf": [{"$ref": f"#/$defs/{after}"}] * 10} for name, after in zip(names, names[1:])}
    return {"$defs": {**rules, "d8": {"type": "string"}}, "$ref": "#/$defs/d0"}


STEEP = "root ::= x9\nx0 ::= [a-z]\n" + "".join(
    f"x{i} ::= " + " | ".join(f'x{i - 1} "{letter}"' for letter in "abcdefghij") + "\n" for i in range(1, 10))

CASES = {
    "deeply nested JSON": ({400}, raw("/v1/completions", '{"model":"m","prompt":' + nested(200000) + "}")),
    "a hundred thousand members": ({200}, completion(**{f"x{i}": 1 for i in range(100000)})),
    "a bias for each token": ({200}, completion(logit_bias={str(i): 1 for i in range(49000)})),
    "no UTF-8": ({400}, raw("/v1/completions", b'{"model":"m","prompt":"\xff\xfe\x80"}')),
    "half a surrogate pair": ({400}, raw("/v1/completions", '{"model":"m","prompt":"\\ud800 x"}')),
    "NUL in the prompt": ({200}, completion(prompt="a\0b\0")),
    "NUL in a chat": ({200}, chat(text="a\0b")),
    "NUL as stop": ({200}, completion(stop=["\0"])),
    "a megabyte of prompt": ({400}, completion(prompt="word " * 200000)),
    "four megabytes to tokenize": ({200}, lambda engine: engine.ask("/tokenize", {"prompt": "word " * 800000})),
    "a million tokens to text": ({200}, lambda engine: engine.ask("/detokenize", {"tokens": [5] * 1000000})),
    "tokens that are none": ({200}, lambda engine: engine.ask("/detokenize", {"tokens": [-1, 10**8, 2**40]})),
    "a stop string of a megabyte": ({200}, completion(stop=["x" * 1000000])),
    "ten thousand stop strings": ({400}, completion(stop=[f"stop{i}" for i in range(10000)])),
    "ten thousand bad words": ({200}, completion(bad_words=[f"bad{i}" for i in range(10000)])),
    "every token forbidden": ({200, 500}, completion(logit_bias={str(i): -100 for i in range(49152)})),
    "a number beyond doubles": ({400}, raw("/v1/completions", '{"model":"m","prompt":"x","temperature":1e999}')),
    "n beyond all limits": ({400}, completion(n=2**31)),
    "max_tokens to the last": ({200}, completion(prompt=[5] * 511, max_tokens=1)),
    "max_tokens one more": ({400}, completion(prompt=[5] * 512, max_tokens=1)),
    "max_tokens beyond 64 bits": ({400}, completion(max_tokens=2**64)),
    "a schema that refers to itself": ({400}, chat(**schema({"$ref": "#"}))),
    "a schema without a beginning": ({400}, chat(**schema(
        {"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "string"}]}}, "$ref": "#/$defs/a"}))),
    "a schema elsewhere": ({400}, chat(**schema({"$ref": "https://127.0.0.1:1/x"}))),
    "a schema of 10^8 ways": ({200, 400}, chat(**schema(ambiguous_schema()))),
    "a schema of huge counts": ({400}, chat(**schema({"type": "array", "items": {"type": "string"}, "minItems": 10**9}))),
    "a pattern of nested counts": ({200, 400}, chat(**schema(
        {"type": "string", "pattern": "^((((a{0,100}){0,100}){0,100}){0,100}){0,100}$"}))),
    "two thousand optional members": ({200, 400}, chat(**schema(
        {"type": "object", "properties": {f"p{i}": {"type": "string"} for i in range(2000)}}))),
    "twenty thousand values": ({400}, chat(**schema({"enum": [f"value number {i}" for i in range(20000)]}))),
    "twenty thousand choices": ({400}, chat(**grammar(choice=[f"choice {i}" for i in range(20000)]))),
    "a regex of nested counts": ({400}, chat(**grammar(regex="((((a{1,1000}){1,1000}){1,1000}){1,1000})"))),
    "a regex of five thousand groups": ({400}, chat(**grammar(regex="(" * 5000 + ")" * 5000))),
    "a regex of a megabyte": ({400}, chat(**grammar(regex="a|" * 500000))),
    "a grammar that begins with itself": ({400}, chat(**grammar(grammar='root ::= root "a" | "b"'))),
    "a grammar of 10^9 beginnings": ({400}, chat(**grammar(grammar=STEEP))),
    "a grammar that doubles with each letter": ({200, 400, 500}, chat(
        max_tokens=60, logit_bias={"79": 100}, **grammar(grammar='root ::= s\ns ::= "a" s "b" | "a" s "c" | "d"'))),
    "a grammar of a hundred thousand brackets": ({400}, chat(
        **grammar(grammar="root ::= " + "(" * 100000 + '"a"' + ")" * 100000))),
    "a grammar of a chain of rules": ({200, 400}, chat(
        **grammar(grammar="root ::= r0\n" + "".join(f"r{i} ::= r{i + 1}\n" for i in range(50000)) + 'r50000 ::= "a"'))),
    "three thousand tools": ({200, 400}, chat(tool_choice="required", tools=[
        {"type": "function", "function": {"name": f"f{i}", "parameters": {"type": "object"}}} for i in range(3000)])),
    "twenty thousand messages": ({400}, lambda engine: engine.ask(
        "/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}] * 20000})),
    "twenty thousand template arguments": ({200, 400}, chat(chat_template_kwargs={f"k{i}": i for i in range(20000)})),
    "a template that loops": ({400}, chat(chat_template="{% for i in range(10000) %}{% for j in range(10000) %}"
                                          "{% for k in range(10000) %}{% endfor %}{% endfor %}{% endfor %}x")),
    "a template of brackets": ({400}, chat(chat_template="{{ " + "(" * 100000 + "1" + ")" * 100000 + " }}")),
    "a template of conditions": ({400}, chat(chat_template="{% if true %}" * 50000 + "{% endif %}" * 50000)),
    "half a comment": ({400}, chat(chat_template="{#")),
    "a template that refuses": ({400}, chat(chat_template="{{ raise_exception('no') }}")),
}


class Beside:
    """A client that asks for one token again and again. The slowest answer and the first wrong one."""

    def __init__(self, engine):
        self.engine, self.slowest, self.problem, self.ending = engine, 0, None, threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.ending.is_set():
            start = time.monotonic()
            try:
                status, text = self.engine.complete(max_tokens=1, timeout=PATIENCE)
                if status != 200:
                    self.problem = self.problem or f"status {status}: {text[:200]}"
            except OSError as error:
                self.problem = self.problem or repr(error)
            self.slowest = max(self.slowest, time.monotonic() - start)
            self.ending.wait(0.05)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ending.set()
        self.thread.join()


def attack(engine, statuses, case):
    """What is wrong, or None."""
    runner = engine.runner()
    with Beside(engine) as beside:
        try:
            status, text = case(engine)
            json.loads(text)
        except Exception as error:  # noqa: BLE001: any is a fault of the server
            return f"no answer: {error!r}"
    if engine.process.poll() is not None:
        return "the front ended"
    if engine.runner() != runner:
        return "the runner was lost"
    if status not in statuses:
        return f"status {status}: {text[:300]}"
    if beside.problem or beside.slowest > PATIENCE:
        return f"the client beside: {beside.problem}, slowest answer {beside.slowest:.1f} s"
    wait_for(engine.is_idle, 60, "nothing runs")
    return None


def main():
    program, model = sys.argv[1:3]
    if not os.path.exists(model):
        print(f"skipped: no model at {model}")
        return 77
    faults = 0
    with Engine(program, model, ["--trust-request-chat-template", "--tool-call-parser", "hermes",
                                 "--enable-auto-tool-choice"]) as engine:
        engine.wait_ready()
        for name, (statuses, case) in CASES.items():
            if len(sys.argv) > 4 and sys.argv[4] not in name:
                continue
            start = time.monotonic()
            problem = attack(engine, statuses, case)
            faults += problem is not None
            print(f"{'FAULT' if problem else 'ok':5} {time.monotonic() - start:5.1f} s  {name}  {problem or ''}", flush=True)
            wait_for(lambda: engine.complete(max_tokens=1)[0] == 200, 120, "it answers again")
        if engine.stop() != 0:
            faults += 1
            print("FAULT it did not stop well", engine.log()[-1000:])
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
