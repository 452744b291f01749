#!/usr/bin/env python3
"""Load on `anedvd serve`: many streaming clients at once, some of whom leave, some of whom send nonsense.

    python3 bench/serve_load.py [--seconds 300] [--clients 64] [--model smollm2] [--program build/bin/anedvd]

Starts the server, asks every prompt once, alone and greedily, then lets the clients stream the same prompts in three dialects for that long: each stream must
equal the answer from before, whole. Meanwhile another process asks /health ten times a second and the server's memory is noted every second. At the end it gets
SIGTERM in the middle of the streams: those that run must still end whole, new ones must be refused before they begin. Prints one summary; exit code 1 when one of
its bounds does not hold. Needs Python alone. Numbers count only where nothing else runs.
"""

import argparse
import asyncio
import collections
import json
import multiprocessing
import os
import pathlib
import random
import re
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORDS = "the lamp on a rock had burned for ninety years and nobody asked who paid oil count waves stone where water meets".split()


class Wrong(Exception):
    """What a client saw and must not see."""


def prompts_of(count: int) -> list[dict]:
    """Requests without their dialect: short and long prompts, short and long answers."""
    luck = random.Random(7)
    return [{"text": " ".join(luck.choices(WORDS, k=luck.choice([4, 12, 40, 90]))), "max_tokens": luck.choice([8, 16, 24, 48])} for _ in range(count)]


def path_and_body(dialect: str, prompt: dict) -> tuple[str, dict]:
    common = {"max_tokens": prompt["max_tokens"], "temperature": 0, "stream": True}
    if dialect == "completions":
        return "/v1/completions", common | {"prompt": prompt["text"]}
    messages = {"messages": [{"role": "user", "content": prompt["text"]}]}
    return ("/v1/chat/completions" if dialect == "chat" else "/v1/messages"), common | messages


def request_bytes(path: str, body: bytes, *lines: str) -> bytes:
    head = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", f"Content-Length: {len(body)}", "Connection: close", *lines]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


# Bytes that are wrong, and the statuses that may answer them; none: the client leaves before there is an answer.
def nonsense(luck: random.Random) -> tuple[bytes, set[int]]:
    chat = "/v1/chat/completions"
    return luck.choice([
        (b"\x16\x03\x01\x02\x00garbage\r\n\r\n", {400}),
        (luck.randbytes(luck.randint(1, 2000)) + b"\r\n\r\n", {400, 414, 0}),
        (request_bytes(chat, b'{"messages": [') , {400}),
        (request_bytes(chat, b"[" * 50000), {400}),
        (request_bytes(chat, b'{"messages": [{"role": "user", "content": "x"}], "temperature": "warm"}'), {400}),
        (request_bytes(chat, b'{"model": "nobody", "messages": [{"role": "user", "content": "x"}]}'), {404}),
        (request_bytes("/v1/nothing", b"{}"), {404}),
        (b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000000\r\n\r\n", {413}),
        (b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", {400}),
        (b"POST /v1/messages HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}", {403}),
        (b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n\r\n{\"half", set()),
        (b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", {400}),
        (b"GET / HT", set()),
    ])


async def read_stream(reader: asyncio.StreamReader, leave_after: int | None = None) -> str:
    """The text of a streamed answer in any of the dialects. `leave_after`: events after which the client has had enough."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    status = int(head.split(" ", 2)[1])
    if "transfer-encoding: chunked" not in head.lower():
        body = await reader.read()
        raise Refused(status, body.decode(errors="replace"))
    text, pending, seen, finish, is_done = [], b"", 0, None, False
    while True:
        size = int(await reader.readline(), 16)
        pending += (await reader.readexactly(size + 2))[:-2]
        while b"\n\n" in pending:
            event, pending = pending.split(b"\n\n", 1)
            data = next((line[6:] for line in event.decode().split("\n") if line.startswith("data: ")), None)
            if data is None:
                continue  # a comment
            if is_done:
                raise Wrong(f"an event behind the end: {data[:80]}")
            if data == "[DONE]":
                is_done = True
                continue
            piece = json.loads(data)
            if "error" in piece:
                raise Wrong(f"an error in the stream: {data[:120]}")
            seen += 1
            if "choices" in piece:
                choice = piece["choices"][0]
                text.append(choice["text"] if "text" in choice else choice["delta"].get("content", ""))
                finish = choice["finish_reason"] or finish
            elif piece["type"] == "content_block_delta":
                text.append(piece["delta"]["text"])
            elif piece["type"] == "message_delta":
                finish = piece["delta"]["stop_reason"]
            elif piece["type"] == "message_stop":
                is_done = True
            if leave_after is not None and seen >= leave_after:
                raise Left
        if size == 0:
            break
    if not is_done or not finish or pending:
        raise Wrong("the stream ended without its end")
    return "".join(text)


class Left(Exception):
    """A client that closed its connection on purpose."""


class Refused(Exception):
    """An answer that is no stream."""


class Load:
    def __init__(self, port: int, prompts: list[dict]):
        self.port, self.prompts = port, prompts
        self.expected: dict[tuple[str, int], str] = {}
        self.counts: collections.Counter = collections.Counter()
        self.wrong: list[str] = []
        self.first, self.whole = [], []
        self.is_ending = False

    async def ask(self, dialect: str, index: int, leave_after: int | None = None) -> str:
        path, body = path_and_body(dialect, self.prompts[index])
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(request_bytes(path, json.dumps(body).encode()))
            await writer.drain()
            return await read_stream(reader, leave_after)
        finally:
            writer.close()

    async def learn(self):
        for dialect in ("completions", "chat"):
            for index in range(len(self.prompts)):
                self.expected[dialect, index] = await self.ask(dialect, index)
                if dialect == "chat":
                    self.expected["messages", index] = self.expected[dialect, index]

    async def nonsense(self, luck: random.Random):
        data, statuses = nonsense(luck)
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(data)
            await writer.drain()
            if not statuses:
                await asyncio.sleep(luck.random())
                return
            answer = await asyncio.wait_for(reader.read(), 60)
            status = int(answer[9:12]) if answer.startswith(b"HTTP/1.1 ") else 0
            # Once it is ending it refuses nonsense, too: with 503, or without a byte.
            if status not in statuses and not (self.is_ending and (not answer or status == 503)):
                self.wrong.append(f"{data[:60]!r}: status {status}")
        finally:
            writer.close()

    async def one(self, luck: random.Random):
        dialect, index, dice = luck.choice(["chat", "completions", "messages"]), luck.randrange(len(self.prompts)), luck.random()
        if dice < 0.08:
            await self.nonsense(luck)
            self.counts["nonsense"] += 1
            return
        leave_after = luck.randint(0, 12) if dice < 0.25 else None
        begin = time.monotonic()
        text = await self.ask(dialect, index, leave_after)
        self.whole.append(time.monotonic() - begin)
        self.counts["streams"] += 1
        self.counts["tokens"] += self.prompts[index]["max_tokens"]
        if text != self.expected[dialect, index]:
            self.wrong.append(f"{dialect} {index}: {text[:60]!r} and not {self.expected[dialect, index][:60]!r}")

    async def client(self, number: int, end: float):
        luck = random.Random(number)
        while time.monotonic() < end or self.is_ending:
            try:
                await self.one(luck)
                if self.is_ending:
                    self.counts["ended after SIGTERM"] += 1
            except Left:
                self.counts["left"] += 1
            except Refused as refused:
                if self.is_ending and refused.args[0] == 503:
                    self.counts["refused after SIGTERM"] += 1
                    return
                self.wrong.append(f"refused: {refused.args}")
            except (ConnectionError, asyncio.IncompleteReadError, asyncio.TimeoutError) as error:
                # Once it is ending: not a byte of an answer, for that is what being refused is.
                if self.is_ending and not getattr(error, "partial", b""):
                    self.counts["refused after SIGTERM"] += 1
                    return
                self.wrong.append(f"lost: {error!r}")
            except Wrong as wrong:
                self.wrong.append(str(wrong))

    async def run(self, clients: int, seconds: float, process: subprocess.Popen):
        await self.learn()
        end = time.monotonic() + seconds
        tasks = [asyncio.create_task(self.client(number, float("inf"))) for number in range(clients)]
        await asyncio.sleep(max(0.0, end - time.monotonic()))
        self.is_ending = True
        process.send_signal(signal.SIGTERM)
        await asyncio.gather(*tasks)


def probe(port: int, stop, results):
    """Asks /health ten times a second, a new connection each, as load balancers do."""
    times, bad = [], 0
    while not stop.is_set():
        begin = time.perf_counter()
        try:
            with socket.create_connection(("127.0.0.1", port), 10) as connection:
                connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                heard = b""
                while chunk := connection.recv(65536):
                    heard += chunk
            bad += not heard.startswith(b"HTTP/1.1 200")
        except OSError:
            bad += 1
        times.append(time.perf_counter() - begin)
        stop.wait(0.1)
    results.put((times, bad))


def resident(pid: int) -> float:
    """Megabytes (10⁶) of that process in memory."""
    found = re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) * 1024 / 1e6 if found else 0.0


def start_server(program: str, model: str, flags: list[str]) -> tuple[subprocess.Popen, int]:
    process = subprocess.Popen([program, "serve", model, "--port", "0", "--drain", "300", *flags], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    log = b""
    while not (found := re.search(rb"listening on http://[^ ]*:(\d+)/", log)):
        chunk = os.read(process.stderr.fileno(), 4096)
        if not chunk:
            raise SystemExit(f"the server ended: {log.decode()}")
        log += chunk
    threading.Thread(target=lambda: [None for _ in iter(lambda: os.read(process.stderr.fileno(), 65536), b"")], daemon=True).start()
    port = int(found[1])
    while True:
        with socket.create_connection(("127.0.0.1", port), 60) as connection:
            connection.sendall(b"GET /health HTTP/1.0\r\nHost: localhost\r\n\r\n")
            if b" 200 " in connection.recv(64):
                return process, port
        time.sleep(0.2)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--prompts", type=int, default=16)
    parser.add_argument("--model", default="smollm2", help="a file or a name")
    parser.add_argument("--program", default=str(ROOT / "build" / "bin" / "anedvd"))
    parser.add_argument("--health-p99", type=float, default=20, help="bound in ms")
    parser.add_argument("--growth", type=float, default=8, help="bound of the memory's growth from the first third to the last, per cent")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--serve", action="append", default=[], help="a further flag of serve")
    args = parser.parse_args()

    process, port = start_server(args.program, args.model, args.serve)
    load = Load(port, prompts_of(args.prompts))
    context = multiprocessing.get_context("fork")
    stop, results = context.Event(), context.Queue()
    prober = context.Process(target=probe, args=(port, stop, results), daemon=True)
    memory: list[tuple[float, float]] = []

    def watch():
        begin = time.monotonic()
        while process.poll() is None and not load.is_ending:
            memory.append((time.monotonic() - begin, resident(process.pid)))
            time.sleep(1 if args.seconds > 30 else 0.2)

    async def everything():
        await load.learn()
        load.learn = lambda: asyncio.sleep(0)
        prober.start()
        threading.Thread(target=watch, daemon=True).start()
        ender = asyncio.get_running_loop().call_later(max(0, args.seconds - 0.5), stop.set)  # the probe ends before the server does
        await load.run(args.clients, args.seconds, process)
        ender.cancel()

    asyncio.run(everything())
    code = process.wait(120)
    times, bad_health = results.get(timeout=30)
    prober.join()

    times = sorted(time * 1e3 for time in times)
    third = len(memory) // 3
    early, late = (statistics.median(mb for _, mb in part) for part in (memory[third // 2:third + 1], memory[-third:]))
    figures = {"clients": args.clients, "seconds": args.seconds, "streams": load.counts["streams"], "tokens_per_second": round(load.counts["tokens"] / args.seconds, 1), "left": load.counts["left"],
               "nonsense": load.counts["nonsense"], "wrong": len(load.wrong), "stream_seconds_median": round(statistics.median(load.whole), 3), "health_requests": len(times), "health_bad": bad_health,
               "health_ms_median": round(times[len(times) // 2], 2), "health_ms_p99": round(times[int(len(times) * 0.99)], 2), "health_ms_max": round(times[-1], 2),
               "memory_mb_early": round(early, 1), "memory_mb_late": round(late, 1), "memory_mb_most": round(max(mb for _, mb in memory), 1),
               "ended_after_sigterm": load.counts["ended after SIGTERM"], "refused_after_sigterm": load.counts["refused after SIGTERM"], "exit_code": code}
    faults = []
    if load.wrong:
        faults.append(f"{len(load.wrong)} answers wrong or lost, the first: {load.wrong[0]}")
    if bad_health:
        faults.append(f"/health did not answer {bad_health} times")
    if figures["health_ms_p99"] > args.health_p99:
        faults.append(f"/health p99 {figures['health_ms_p99']} ms, over {args.health_p99:g}")
    if late > early * (1 + args.growth / 100):
        faults.append(f"memory grew from {early:.1f} to {late:.1f} MB")
    if code != 0:
        faults.append(f"exit code {code} after SIGTERM")
    if args.json:
        print(json.dumps(figures | {"faults": faults}))
        return 1 if faults else 0
    for name, value in figures.items():
        print(f"{name:24}{value}")
    print("ok" if not faults else "failed: " + "; ".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
