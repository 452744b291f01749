#!/usr/bin/env python3
"""The conformity sheet of the HTTP API over real sockets: a test is named after the section and row that it shows.

    ANEDVD_PROGRAM=build/bin/anedvd python3 -m unittest -v tests/http/rows_test.py

Rows whose fields are the same in every answer are also in tests/api (without sockets), clients in acceptance_test.py and clients_test.py. Tools and answers held
to a JSON schema are not part of this version: their rows show that such requests are refused and never served half. Of §14, rows 21, 29, 31, 33, 36 and 38 are those of the sections: 6, 3.5, 13, 3.3 (tests/api/openai_chat_test.cpp), 4 and 3.3.
"""

import concurrent.futures
import json
import pathlib
import re
import shutil
import socket
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from support import DATA, HI, SECONDS, TINY, Server, chat_text, eventually, events, hear

CHAT, RAW, MESSAGES, RESPONSES = "/v1/chat/completions", "/v1/completions", "/v1/messages", "/v1/responses"
LONG = {"max_tokens": 400, "ignore_eos": True, "temperature": 0}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
SCHEMA = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}}


def user(text: str):
    return [{"role": "user", "content": text}]


class SharedRows(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--parallel", "4").ready()

    @classmethod
    def tearDownClass(cls):
        cls.server.kill()

    def chat(self, **fields):
        return self.server.post(CHAT, {"messages": HI, "max_tokens": 4} | fields)

    def refused(self, answer, status=400, param=None, code=None):
        got, body = answer
        self.assertEqual(got, status, body)
        self.assertEqual(set(body["error"]) - {"n_prompt_tokens", "n_ctx"}, {"message", "type", "param", "code"})
        self.assertIsInstance(body["error"]["code"], str)
        if param:
            self.assertEqual(body["error"]["param"], param, body)
        if code:
            self.assertEqual(body["error"]["code"], code, body)

    def messages_seen(self, path, body):
        """The conversation as the template saw it."""
        status, answer = self.server.post(path, body | {"max_tokens": 1}, {"x-anedvd-trace": "1"})
        self.assertEqual(status, 200, answer)
        return answer["anedvd_trace"]["messages"]


class Sections(SharedRows):
    def test_01_every_route(self):
        for method, path, status in [
                ("GET", "/", 200), ("GET", "/index.html", 200), ("GET", "/health", 200), ("GET", "/healthz", 200), ("GET", "/v1/health", 200), ("GET", "/v1/models", 200),
                ("GET", "/models", 200), ("GET", f"/v1/models/{TINY}", 200), ("GET", "/metrics", 200), ("GET", "/props", 200), ("GET", "/slots", 200), ("GET", "/v1/responses/none", 404),
                ("DELETE", "/v1/responses/none", 404), ("POST", "/v1/responses/none/cancel", 404), ("POST", "/v1/requests/none/cancel", 404), ("POST", "/v1/rerank", 501), ("POST", "/rerank", 501),
                ("OPTIONS", CHAT, 204), ("OPTIONS", "*", 204), ("HEAD", "/health", 200), ("GET", "/health/", 200), ("GET", "//health", 200), ("POST", "/v1/v1/chat/completions", 404),
                ("GET", CHAT, 405), ("POST", "/props", 405), ("PUT", "/v1/models", 405)]:
            with self.subTest(f"{method} {path}"):
                got, _, data = self.server.request(method, path, {} if method == "POST" else None)
                self.assertEqual(got, status, data)
                if method == "HEAD":
                    self.assertEqual(data, b"")
        for path, body in [(CHAT, {"messages": HI}), ("/chat/completions", {"messages": HI}), (RAW, {"prompt": "a"}), ("/completions", {"prompt": "a"}), (MESSAGES + "?beta=true", {"messages": HI}),
                           ("/v1/messages/count_tokens", {"messages": HI}), (RESPONSES, {"input": "a"}), ("/v1/responses/input_tokens", {"input": "a"}), ("/v1/embeddings", {"input": "a"}),
                           ("/embeddings", {"input": "a"}), ("/tokenize", {"content": "a"}), ("/detokenize", {"tokens": [40]}), ("/apply-template", {"messages": HI})]:
            with self.subTest(path):
                self.assertEqual(self.server.post(path, body | {"max_tokens": 2})[0], 200)

    def test_02_which_model(self):
        for name, status in [(None, 200), ("", 200), (TINY, 200), ("gpt-9", 404)]:
            self.assertEqual(self.chat(model=name)[0], status, name)
        self.assertEqual(self.chat(model=None)[1]["model"], TINY)
        self.assertEqual(self.server.post(MESSAGES, {"model": "claude-haiku-9", "messages": HI, "max_tokens": 1})[1]["model"], "claude-haiku-9")
        self.assertIn(TINY, self.chat(model="gpt-9")[1]["error"]["message"])

    def test_03_1_request_fields(self):
        for fields, param in [({"temperature": -1}, "temperature"), ({"temperature": 11}, "temperature"), ({"temperature": "1"}, "temperature"), ({"top_p": 1.5}, "top_p"), ({"n": 0}, "n"),
                              ({"n": 129}, "n"), ({"max_tokens": 0}, "max_tokens"), ({"max_tokens": 1.5}, "max_tokens"), ({"max_tokens": "5"}, "max_tokens"), ({"max_completion_tokens": 0}, "max_completion_tokens"),
                              ({"stop": [1]}, "stop[0]"), ({"stop": ["x"] * 17}, "stop"), ({"seed": 1.5}, "seed"), ({"presence_penalty": 3}, "presence_penalty"), ({"logit_bias": {"99999": 1}}, "logit_bias"),
                              ({"logit_bias": {"a": 1}}, "logit_bias"), ({"top_logprobs": 2}, "top_logprobs"), ({"logprobs": True, "top_logprobs": 21}, "top_logprobs"), ({"stream": "yes"}, "stream"),
                              ({"reasoning_effort": "huge"}, "reasoning_effort"), ({"audio": {}}, "audio"), ({"modalities": ["audio"]}, "modalities"), ({"tool_choice": "required"}, "tool_choice")]:
            with self.subTest(fields):
                self.refused(self.chat(**fields), param=param)
                if fields != {"stream": "yes"}:
                    self.refused(self.chat(**fields, stream=True), param=param)
        for fields in [{"temperature": 5, "min_p": 0.1}, {"top_p": 0}, {"seed": -7}, {"seed": None, "stop": None, "n": None}, {"stop": ["", "zz"]}, {"max_tokens": -1, "stop": list(" aeiou")},
                       {"max_tokens": 10 ** 12, "stop": list(" aeiou")}, {"logit_bias": [[40, False], [41, 1.5]]}, {"stream_options": {"include_usage": True}}, {"tools": []}, {"reasoning_effort": "none"},
                       {"modalities": ["text"], "user": "u", "metadata": {}, "store": True, "service_tier": "auto", "prompt_cache_key": "k", "verbosity": "low", "prediction": {}, "nonsense": [1]},
                       {"top_k": 5, "repetition_penalty": 1.1, "repeat_last_n": 16, "cache_prompt": False, "id_slot": 1, "samplers": ["top_k"], "min_tokens": 1}]:
            with self.subTest(fields):
                self.assertEqual(self.chat(**fields)[0], 200)

    def test_03_2_messages(self):
        for message in [{"role": "god", "content": "x"}, {"content": "x"}, {"role": "user"}, {"role": "user", "content": None}, {"role": "assistant", "content": None}, {"role": "user", "content": 5},
                        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}, {"role": "user", "content": [{"type": "input_audio"}]}, {"role": "user", "content": [{"type": "new"}]}]:
            with self.subTest(message):
                self.refused(self.server.post(CHAT, {"messages": [message, *HI]}))
        self.refused(self.server.post(CHAT, {"messages": []}), param="messages")
        seen = self.messages_seen(CHAT, {"messages": [
            {"role": "developer", "content": "D"}, {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "name": "n"},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "not json"}}]}, {"role": "tool", "content": [{"type": "text", "text": "r"}]}, *HI]})
        self.assertEqual([(one["role"], one["content"]) for one in seen], [("system", "D"), ("user", "ab"), ("assistant", ""), ("tool", "r"), ("user", "hi there")])
        self.assertEqual(seen[2]["tool_calls"][0]["function"]["arguments"], "not json")

    def test_03_2_a_trailing_assistant_message_is_continued(self):
        ask = {"messages": [*HI, {"role": "assistant", "content": "The lamp"}], "temperature": 0, "max_tokens": 8, "ignore_eos": True}
        status, body = self.server.post(CHAT, ask, {"x-anedvd-trace": "1"})
        self.assertTrue(body["anedvd_trace"]["prompts"][0]["text"].endswith("<|im_start|>assistant\nThe lamp"))
        prompt = body["anedvd_trace"]["prompts"][0]["ids"]
        raw = self.server.post(RAW, {"prompt": prompt, "temperature": 0, "max_tokens": 8, "ignore_eos": True})[1]["choices"][0]["text"]
        self.assertEqual(body["choices"][0]["message"]["content"], raw)

    def test_03_3_usage_and_timings(self):
        one, many = self.chat(ignore_eos=True)[1], self.chat(ignore_eos=True, n=3)[1]
        self.assertEqual(one["usage"]["prompt_tokens"], many["usage"]["prompt_tokens"])
        self.assertEqual((one["usage"]["completion_tokens"], many["usage"]["completion_tokens"]), (4, 12))
        self.assertTrue({"cache_n", "prompt_n", "prompt_ms", "predicted_n", "predicted_ms", "predicted_per_second", "draft_n"} <= set(one["timings"]))
        self.assertEqual(one["choices"][0]["finish_reason"], "length")

    def test_03_4_stream(self):
        status, headers, data = self.server.request("POST", CHAT, {"messages": HI, "max_tokens": 6, "stream": True, "n": 2, "stream_options": {"include_usage": True}})
        self.assertEqual(headers["Content-Type"], "text/event-stream; charset=utf-8")
        self.assertEqual((headers["Cache-Control"], headers["X-Accel-Buffering"], "Content-Length" in headers), ("no-cache, no-transform", "no", False))
        all_of = events(data)
        self.assertEqual(all_of[-1], "[DONE]")
        chunks = [json.loads(one) for one in all_of[:-1]]
        self.assertEqual(len({(one["id"], one["created"], one["object"]) for one in chunks}), 1)
        for index in (0, 1):
            mine = [one["choices"][0] for one in chunks if one["choices"] and one["choices"][0]["index"] == index]
            self.assertEqual(mine[0]["delta"], {"role": "assistant", "content": ""})
            self.assertTrue(all("role" not in one["delta"] for one in mine[1:]))
            self.assertEqual([one["finish_reason"] is None for one in mine], [True] * (len(mine) - 1) + [False])
        self.assertEqual([bool(one["choices"]) for one in chunks], [True] * (len(chunks) - 1) + [False])
        self.assertTrue(all(one["usage"] is None for one in chunks[:-1]))

    def test_03_5_stop_strings(self):
        ask = {"prompt": "the", "max_tokens": 30, "temperature": 0, "ignore_eos": True}
        whole = self.server.post(RAW, ask)[1]["choices"][0]["text"]
        for at in (1, len(whole) // 3, len(whole) // 2):
            for length in (1, 3, 8):
                stop = whole[at:at + length]
                want = whole[:whole.index(stop)]
                for stops in ([stop], [stop, stop + "?"], ["never there", stop]):
                    self.assertEqual(self.server.post(RAW, ask | {"stop": stops})[1]["choices"][0]["text"], want)
                    data = self.server.request("POST", RAW, ask | {"stop": stops, "stream": True})[2]
                    self.assertEqual("".join(json.loads(one)["choices"][0]["text"] for one in events(data)[:-1]), want)
        # What was held back because a stop might have begun comes at the end all the same.
        self.assertEqual(self.server.post(RAW, ask | {"stop": [whole[-3:] + "x"]})[1]["choices"][0]["text"], whole)

    def test_03_6_what_would_need_a_grammar_is_refused(self):
        for fields in [{"response_format": SCHEMA}, {"response_format": {"type": "json_object"}}, {"json_schema": {"type": "object"}}, {"grammar": "root ::= x"}]:
            self.refused(self.chat(**fields), code="not_supported")
        self.refused(self.chat(response_format={"type": "nonsense"}), param="response_format.type")
        self.assertEqual(self.chat(response_format={"type": "text"})[0], 200)

    def test_04_completions(self):
        body = self.server.post(RAW, {"prompt": ["a", "b"], "n": 2, "ignore_eos": True})[1]
        self.assertEqual([choice["index"] for choice in body["choices"]], [0, 1, 2, 3])
        self.assertEqual(body["usage"]["completion_tokens"], 4 * 16)
        for prompt in ("", [], [[]], [99999], [-1], None, 5):
            self.assertEqual(self.server.post(RAW, {"prompt": prompt})[0], 400, prompt)
        ids = self.server.post("/tokenize", {"content": "the lamp"})[1]["tokens"]
        same = [self.server.post(RAW, {"prompt": prompt, "temperature": 0})[1]["choices"][0]["text"] for prompt in ("the lamp", ids)]
        self.assertEqual(same[0], same[1])
        self.refused(self.server.post(RAW, {"prompt": "a", "suffix": "b"}), code="suffix_not_supported", param="suffix")
        self.refused(self.server.post(RAW, {"prompt": "a", "best_of": 2, "stream": True}), param="best_of")
        scored = self.server.post(RAW, {"prompt": "the lamp on", "echo": True, "logprobs": 1, "max_tokens": 1, "ignore_eos": True})[1]["choices"][0]
        lists = scored["logprobs"]
        self.assertEqual(len({len(lists[name]) for name in ("tokens", "token_logprobs", "top_logprobs", "text_offset")}), 1)
        self.assertEqual([scored["text"][at:at + len(token)] for at, token in zip(lists["text_offset"], lists["tokens"])], lists["tokens"])

    def test_05_messages(self):
        ask = {"messages": HI, "max_tokens": 4}
        status, headers, data = self.server.request("POST", MESSAGES + "?beta=true", ask | {"system": [{"type": "text", "text": "S"}], "thinking": {"type": "disabled"}, "metadata": {}, "top_k": 5})
        body = json.loads(data)
        self.assertEqual((status, body["type"], body["role"], body["content"][0]["type"]), (200, "message", "assistant", "text"))
        self.assertRegex(headers["request-id"], r"^req_\w{24}$")
        names = [line[7:] for line in self.server.request("POST", MESSAGES, ask | {"stream": True})[2].decode().split("\n") if line.startswith("event: ")]
        self.assertEqual((names[:3], names[-3:]), (["message_start", "ping", "content_block_start"], ["content_block_stop", "message_delta", "message_stop"]))
        for bad in [{"max_tokens": None}, {"max_tokens": 0}, {"messages": []}, {"messages": [{"role": "user", "content": [{"type": "image", "source": {}}]}]}, {"stop_sequences": "x"}, {"tool_choice": {"type": "any"}}]:
            status, body = self.server.post(MESSAGES, ask | bad)
            self.assertEqual((status, body["type"], body["error"]["type"]), (400, "error", "invalid_request_error"), bad)

    def test_07_responses(self):
        first = self.server.post(RESPONSES, {"input": "hi", "max_output_tokens": 3, "ignore_eos": True})[1]
        self.assertEqual((first["status"], first["incomplete_details"]["reason"]), ("incomplete", "max_output_tokens"))
        second = self.server.post(RESPONSES, {"input": "go on", "previous_response_id": first["id"], "max_output_tokens": 3})[1]
        self.assertGreater(second["usage"]["input_tokens"], first["usage"]["input_tokens"])
        self.refused(self.server.post(RESPONSES, {"input": "x", "previous_response_id": "resp_none"}), 404, "previous_response_id")
        for field in ({"background": True}, {"prompt": {"id": "x"}}, {"conversation": "x"}):
            self.refused(self.server.post(RESPONSES, {"input": "x"} | field), param=next(iter(field)))

    def test_10_embeddings(self):
        for bad in ("", [], ["a", ""], [99999], "word " * 3000, ["a"] * 2049):
            self.assertEqual(self.server.post("/v1/embeddings", {"input": bad})[0], 400, str(bad)[:20])
        short = self.server.post("/v1/embeddings", {"input": "a", "dimensions": 8})[1]["data"][0]["embedding"]
        self.assertEqual(len(short), 8)
        self.assertAlmostEqual(sum(value * value for value in short), 1, places=4)

    def test_11_tokenizer_routes(self):
        text = "h\u00e9llo <|im_end|> \U0001f600"
        ids = self.server.post("/tokenize", {"content": text})[1]["tokens"]
        self.assertEqual(self.server.post("/detokenize", {"tokens": ids})[1]["content"], text)
        self.assertEqual(self.server.post("/tokenize", {"messages": HI})[1]["count"], self.chat()[1]["usage"]["prompt_tokens"])
        self.assertEqual(self.server.post("/detokenize", {"tokens": [10 ** 9]})[0], 400)

    def test_12_metrics(self):
        self.chat()
        text = self.server.request("GET", "/metrics")[2].decode()
        for name in ("prompt_tokens_total", "prompt_tokens_cached_total", "tokens_predicted_total", "prompt_seconds_total", "tokens_predicted_seconds_total", "requests_total", "requests_cancelled_total",
                     "requests_rejected_total", "spec_decode_num_draft_tokens_total", "spec_decode_num_accepted_tokens_total", "requests_processing", "requests_deferred", "kv_cache_usage_ratio", "model_loaded",
                     "resident_memory_bytes", "time_to_first_token_seconds", "inter_token_latency_seconds", "e2e_request_latency_seconds", "request_prompt_tokens", "request_generation_tokens"):
            self.assertRegex(text, rf"(?m)^# HELP anedvd:{name} .+\n# TYPE anedvd:{name} (counter|gauge|histogram)$")
        for _ in range(20):  # counted before the answer ended
            before = self.server.metric("tokens_predicted_total")
            self.chat(ignore_eos=True)
            self.assertEqual(self.server.metric("tokens_predicted_total"), before + 4)

    def test_13_headers(self):
        for path, body, kind in [(CHAT, {"messages": HI, "max_tokens": 1}, 200), (CHAT, {}, 400), ("/v1/nothing", {}, 404)]:
            _, headers, _ = self.server.request("POST", path, body, {"x-request-id": "my-id.7", "Origin": "http://localhost:3000"})
            self.assertEqual((headers["x-request-id"], headers["Access-Control-Allow-Origin"], headers["Vary"]), ("my-id.7", "http://localhost:3000", "Origin"), path)
            self.assertEqual(headers["Access-Control-Expose-Headers"], "x-request-id, request-id, retry-after")
            self.assertRegex(headers["Server"], r"^anedvd/\d")
            self.assertRegex(headers["openai-processing-ms"], r"^\d+$")
            self.assertEqual(headers["openai-version"], "2020-10-01")

    def test_13_the_page_of_localhost_moves_to_its_address(self):
        status, headers, _ = self.server.request("GET", "/", headers={"Host": f"localhost:{self.server.port}"})
        self.assertEqual((status, headers["Location"]), (307, f"http://127.0.0.1:{self.server.port}/"))
        self.assertEqual(self.server.request("GET", "/v1/models", headers={"Host": f"localhost:{self.server.port}"})[0], 200)

    def test_13_an_answer_is_cancelled_from_another_connection(self):
        connection = self.server.open(CHAT, {"messages": HI, "stream": True, "stream_options": {"include_usage": True}, "n": 32} | LONG, {"x-request-id": "to-be-ended"})
        hear(connection, b'"content":"')
        status, body = self.server.post("/v1/requests/to-be-ended/cancel", None)
        rest = hear(connection)
        connection.close()
        self.assertEqual((status, body.get("status")), (200, "cancelled"), body)
        self.assertIn(b"data: [DONE]", rest)
        self.assertLess(json.loads(events(rest)[-2])["usage"]["completion_tokens"], 12800)
        self.assertTrue(eventually(lambda: self.server.post("/v1/requests/to-be-ended/cancel", None)[0] == 404))

    def test_09_robustness(self):
        for body in (b'{"messages":' + b"[" * 200000, b'{"messages":[{"role":"user","content":"x"}],"seed":1e999}', b'{"a":"\xff"}', b"\xef\xbb\xbf{", b"{} {}", b"[]", b""):
            self.assertEqual(self.server.request("POST", CHAT, body)[0], 400, body[:20])
        for body in (b'\xef\xbb\xbf{"messages":[{"role":"user","content":"x"}],"max_tokens":1}', b'{"messages":[{"role":"user","content":"\\ud800x"}],"max_tokens":1}',
                     b'{"messages":[{"role":"user","content":"x"}],"max_tokens":"x","max_tokens":1}', b'{"messages":[{"role":"user","content":"x"}],"temperature":-0,"max_tokens":1}'):
            self.assertIn(self.server.request("POST", CHAT, body)[0], (200, 400), body)
        self.assertEqual(self.server.request("POST", CHAT, b"{}", {"Content-Encoding": "gzip"})[0], 415)
        self.assertEqual(self.server.request("GET", "/health")[0], 200)


class Bugs(SharedRows):
    """§14: what other servers got wrong, by the number of the row."""

    def test_14_02_to_07_tools_are_refused_and_not_lost(self):
        for fields in [{"tools": [TOOL]}, {"tools": [TOOL], "stream": True}, {"functions": [TOOL["function"]]}]:
            self.refused(self.chat(**fields), code="not_supported")

    def test_14_08_its_own_answer_comes_back_with_null_content(self):
        call = {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}
        for extra in ({"content": None}, {}, {"content": ""}, {"content": []}):
            self.assertEqual(self.server.post(CHAT, {"messages": [*HI, call | extra, {"role": "tool", "tool_call_id": "1", "content": "r"}], "max_tokens": 1})[0], 200, extra)

    def test_14_09_developer_is_system(self):
        self.assertEqual(self.messages_seen(CHAT, {"messages": [{"role": "developer", "content": "D"}, *HI]})[0], {"role": "system", "content": "D"})

    def test_14_11_to_13_schemas_are_never_ignored(self):
        for fields in [{"response_format": SCHEMA}, {"response_format": SCHEMA, "reasoning_effort": "high"}, {"response_format": SCHEMA, "tools": [TOOL]}, {"response_format": {"type": "json_schema", "schema": {}}}]:
            self.refused(self.chat(**fields), code="not_supported")

    def test_14_15_deep_nesting_is_survived(self):
        for body in (b'{"tools":' + b'{"a":' * 300000, b'{"messages":[],"response_format":' + b"[" * 300000 + b"]" * 300000 + b"}"):
            self.assertEqual(self.server.request("POST", CHAT, body)[0], 400)
        self.assertEqual(self.chat()[0], 200)

    def test_14_16_base64_embeddings_are_floats(self):
        self.assertIsInstance(self.server.post("/v1/embeddings", {"input": "a", "encoding_format": "base64"})[1]["data"][0]["embedding"], str)
        self.assertIsInstance(self.server.post("/v1/embeddings", {"input": "a"})[1]["data"][0]["embedding"], list)

    def test_14_17_usage_comes_once_and_only_when_asked_for(self):
        asked = self.server.request("POST", CHAT, {"messages": HI, "max_tokens": 3, "stream": True, "stream_options": {"include_usage": True}})[2].decode()
        plain = self.server.request("POST", CHAT, {"messages": HI, "max_tokens": 3, "stream": True})[2].decode()
        self.assertEqual((asked.count('"prompt_tokens":'), plain.count('"usage"')), (1, 0))

    def test_14_18_and_19_message_start_has_the_real_input_tokens(self):
        ask = {"messages": user("a question that is a little longer than the others"), "max_tokens": 3}
        total = self.server.post("/v1/messages/count_tokens", ask)[1]["input_tokens"]
        for _ in range(2):  # the second time most of it is cached
            start = json.loads(events(self.server.request("POST", MESSAGES, ask | {"stream": True})[2])[0])["message"]["usage"]
            self.assertEqual(start["input_tokens"] + start["cache_read_input_tokens"] + start["cache_creation_input_tokens"], total)
        self.assertGreater(start["cache_read_input_tokens"], 0)

    def test_14_20_blocks_are_in_order(self):
        all_of = [json.loads(one) for one in events(self.server.request("POST", MESSAGES, {"messages": HI, "max_tokens": 8, "stream": True})[2])]
        opened = None
        for event in all_of:
            if event["type"] == "content_block_start":
                self.assertIsNone(opened)
                opened = event["index"]
            elif event["type"] == "content_block_delta":
                self.assertEqual(event["index"], opened)
            elif event["type"] == "content_block_stop":
                self.assertEqual(event["index"], opened)
                opened = None
        self.assertIsNone(opened)

    def test_14_22_the_changing_line_of_agents_is_dropped(self):
        seen = self.messages_seen(MESSAGES, {"system": [{"type": "text", "text": "x-anthropic-billing-header: cc_version=1"}, {"type": "text", "text": "S"}], "messages": HI})
        self.assertEqual(seen[0], {"role": "system", "content": "S"})

    def test_14_23_servers_tools_are_passed_over(self):
        self.assertEqual(self.server.post(RESPONSES, {"input": "a", "tools": [{"type": "web_search"}, {"type": "local_shell"}], "max_output_tokens": 1})[0], 200)
        item = {"type": "function_call_output", "call_id": "1", "output": [{"type": "input_text", "text": "r"}]}
        self.assertEqual(self.server.post(RESPONSES, {"input": [{"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"}, item], "max_output_tokens": 1})[0], 200)

    def test_14_24_a_prompt_too_long_is_said_in_the_words_that_agents_look_for(self):
        text = "one two three " * 400
        self.refused(self.server.post(CHAT, {"messages": user(text), "stream": True}), param="messages", code="context_length_exceeded")
        self.assertIn("maximum context length is 512 tokens", self.server.post(CHAT, {"messages": user(text)})[1]["error"]["message"])
        self.assertRegex(self.server.post(MESSAGES, {"messages": user(text), "max_tokens": 5})[1]["error"]["message"], r"^prompt is too long: \d+ tokens > 512 maximum$")

    def test_14_25_max_tokens_is_cut_to_the_context(self):
        body = self.server.post(RAW, {"prompt": "a", "max_tokens": 32000, "ignore_eos": True, "temperature": 0})[1]
        self.assertEqual((body["usage"]["total_tokens"], body["choices"][0]["finish_reason"]), (512, "length"))
        body = self.server.post(MESSAGES, {"messages": HI, "max_tokens": 32000, "ignore_eos": True})[1]
        self.assertEqual(body["stop_reason"], "model_context_window_exceeded")

    def test_14_26_a_cut_prompt_tells_how_much(self):
        body = self.server.post(CHAT, {"messages": [*user("old " * 600), {"role": "assistant", "content": "x"}, *HI], "truncation": "auto", "max_tokens": 1})[1]
        self.assertGreater(body["usage"]["prompt_tokens_dropped"], 500)

    def test_14_27_the_context_is_told_under_every_name(self):
        model = json.loads(self.server.request("GET", "/v1/models")[2])["data"][0]
        self.assertEqual({model[name] for name in ("context_length", "max_model_len", "context_window", "max_output_tokens")} | {model["meta"]["n_ctx"]}, {512})
        self.assertEqual(json.loads(self.server.request("GET", "/props")[2])["default_generation_settings"]["n_ctx"], 512)

    def test_14_28_characters_are_whole(self):
        for seed in range(6):
            ask = {"prompt": "\u00e9\u20ac\U0001f600", "max_tokens": 60, "seed": seed, "temperature": 8, "ignore_eos": True}
            whole = self.server.post(RAW, ask)[1]["choices"][0]["text"]
            pieces = [json.loads(one)["choices"][0]["text"] for one in events(self.server.request("POST", RAW, ask | {"stream": True})[2])[:-1]]
            self.assertEqual("".join(pieces), whole)
            for piece in pieces:
                self.assertFalse(any(0xD800 <= ord(letter) < 0xE000 for letter in piece))

    def test_14_30_preflight_needs_no_key_and_allows_authorization(self):
        status, headers, _ = self.server.request("OPTIONS", CHAT, None, {"Origin": "http://localhost:3000", "Access-Control-Request-Headers": "authorization,x-api-key,x-stainless-os", "Access-Control-Request-Private-Network": "true"})
        self.assertEqual((status, headers["Access-Control-Allow-Headers"], headers["Access-Control-Allow-Private-Network"]), (204, "authorization,x-api-key,x-stainless-os", "true"))

    def test_14_32_prompts_are_scored(self):
        ask = {"prompt": "the lamp on the rock", "echo": True, "logprobs": 1}
        scored = [self.server.post(RAW, ask | {"max_tokens": count})[1]["choices"][0]["logprobs"] for count in (0, 1)]
        for one in scored:
            self.assertIsNone(one["token_logprobs"][0])
            self.assertTrue(all(value <= 0 for value in one["token_logprobs"][1:]))
        self.assertEqual(scored[0]["tokens"], scored[1]["tokens"][:len(scored[0]["tokens"])])

    def test_14_34_empty_tools_and_minus_one(self):
        status, body = self.chat(tools=[], max_tokens=-1, stop=list(" aeiou"))
        self.assertEqual((status, type(body["created"])), (200, int))

    def test_14_35_an_unknown_path_is_404_in_json(self):
        for path in ("/v1/nothing", "/api/generate", "/v1/chat", "/x.php"):
            self.assertEqual(self.server.post(path, {})[0], 404)

    def test_14_37_greedy_is_the_same_under_load(self):
        ask = {"prompt": "the lamp", "temperature": 0, "max_tokens": 24}
        alone = self.server.post(RAW, ask)[1]["choices"][0]["text"]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            texts = set(pool.map(lambda i: self.server.post(RAW, ask if i % 2 else ask | {"prompt": "a ship"})[1]["choices"][0]["text"] if i % 2 else alone, range(24)))
        self.assertEqual(texts, {alone})

    def test_14_39_other_sites_cannot_use_it(self):
        self.assertEqual(self.server.request("GET", "/v1/models", None, {"Host": "evil.example:80"})[0], 403)
        self.assertEqual(self.server.request("POST", CHAT, {"messages": HI}, {"Origin": "https://evil.example"})[0], 403)
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
            self.assertEqual(self.server.request("POST", CHAT, json.dumps({"messages": HI}), {"Content-Type": kind})[0], 415)


class OwnServers(unittest.TestCase):
    """Rows that need a server with other flags."""

    def serve(self, *flags, **more) -> Server:
        server = Server(*flags, **more)
        self.addCleanup(server.kill)
        return server.ready()

    def open(self, server, *arguments):
        connection = server.open(*arguments)
        self.addCleanup(connection.close)
        return connection

    def test_02_a_model_is_let_go_for_another_and_comes_back(self):
        server = self.serve("--model-memory", "1KB", models=(f"{TINY}.gguf", "tiny-llama-f32.gguf"))
        ask = {"messages": HI, "temperature": 0, "max_tokens": 8}
        before = server.post(CHAT, ask | {"model": TINY})[1]["choices"]
        self.assertEqual(server.post(CHAT, ask | {"model": "tiny-llama-f32"})[0], 200)
        states = {model["id"]: model["status"] for model in json.loads(server.request("GET", "/v1/models")[2])["data"]}
        self.assertEqual(states, {TINY: "unloaded", "tiny-llama-f32": "loaded"})
        self.assertEqual(server.request("GET", "/health")[0], 200)
        self.assertEqual(server.post(CHAT, ask | {"model": TINY})[1]["choices"], before)

    def test_03_2_and_14_10_strict_templates(self):
        strict = ("{% for m in messages %}{% if m.role == 'system' and not loop.first %}{{ raise_exception('System message must be at the beginning.') }}{% endif %}"
                  "{% if not loop.first and m.role == messages[loop.index0 - 1].role %}{{ raise_exception('Conversation roles must alternate') }}{% endif %}"
                  "{% if 'forbidden' in m.content %}{{ raise_exception('This word is not for me.') }}{% endif %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "strict.jinja"
            path.write_text(strict)
            server = self.serve("--chat-template", str(path))
        def seen(*messages):
            status, body = server.post(CHAT, {"messages": [dict(zip(("role", "content"), one)) for one in messages], "max_tokens": 1}, {"x-anedvd-trace": "1"})
            return (status, [(one["role"], one["content"]) for one in body["anedvd_trace"]["messages"]] if status == 200 else body["error"])
        self.assertEqual(seen(("system", "A"), ("developer", "B"), ("user", "q")), (200, [("system", "A\n\nB"), ("user", "q")]))
        self.assertEqual(seen(("user", "a"), ("assistant", "b"), ("system", "S"), ("user", "c")), (200, [("user", "a"), ("assistant", "b"), ("user", "S\n\nc")]))
        self.assertEqual(seen(("user", "a"), ("user", "b")), (200, [("user", "a\n\nb")]))
        status, error = seen(("user", "forbidden"))
        self.assertEqual((status, error["code"], error["message"]), (400, "template_error", "This word is not for me."))
        self.assertEqual(server.post(MESSAGES, {"messages": user("forbidden"), "max_tokens": 1})[0], 400)
        self.assertEqual(server.post(RESPONSES, {"input": [{"role": "user", "content": "a"}, {"role": "system", "content": "S"}, {"role": "user", "content": "b"}], "max_output_tokens": 1})[0], 200)

    def test_04_and_14_36_gaps_are_filled_with_the_models_marks(self):
        marks = ["<fim_prefix>", "<fim_suffix>", "<fim_middle>"]
        with tempfile.TemporaryDirectory() as folder:
            model = pathlib.Path(folder) / "fim-tiny"
            shutil.copytree(DATA / "hf-tiny", model)
            path = model / "tokenizer.json"
            data = json.loads(path.read_text())
            # The last three merges give their tokens to the marks.
            words = {index: word for word, index in data["model"]["vocab"].items()}
            ids = [len(words) - 3, len(words) - 2, len(words) - 1]
            data["model"]["merges"] = [merge for merge in data["model"]["merges"] if "".join(merge) not in [words[index] for index in ids]]
            for mark, index in zip(marks, ids):
                del data["model"]["vocab"][words[index]]
                data["model"]["vocab"][mark] = index
                data["added_tokens"].append(data["added_tokens"][0] | {"id": index, "content": mark})
            path.write_text(json.dumps(data))
            server = self.serve(models=(str(model),))
            tokens = lambda text: server.post("/tokenize", {"content": text, "parse_special": False})[1]["tokens"]
            before, after = "def f(x):\n    return ", "\n\nprint(f(2) <fim_middle>)"
            status, body = server.post(RAW, {"prompt": before, "suffix": after, "max_tokens": 4}, {"x-anedvd-trace": "1"})
        self.assertEqual(status, 200, body)
        self.assertEqual(body["anedvd_trace"]["prompts"][0]["ids"], [ids[0], *tokens(before), ids[1], *tokens(after), ids[2]])
        self.assertEqual(server.post(RAW, {"prompt": before, "suffix": after, "echo": True})[0], 400)

    def test_06_tokens_are_counted_while_all_places_work(self):
        server = self.serve("--parallel", "1")
        busy = [self.open(server, CHAT, {"messages": HI, "stream": True, "n": 16} | LONG)]
        self.assertTrue(eventually(lambda: server.metric("requests_deferred") > 0))
        self.assertGreater(server.post("/v1/messages/count_tokens", {"messages": HI})[1]["input_tokens"], 0)
        for connection in busy:
            connection.close()

    def test_08_3_full_queues_and_busy_engines(self):
        for flags, path, refusal in [(("--parallel", "1", "--queue", "0"), CHAT, (429, "1", "1000", "rate_limit_error")), (("--no-queue",), CHAT, (503, "1", "1000", "overloaded_error")),
                                     (("--no-queue",), MESSAGES, (529, "1", "1000", "overloaded_error"))]:
            server = self.serve(*flags)
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                answers = list(pool.map(lambda _: server.request("POST", path, {"messages": HI} | LONG), range(8)))
            seen = {(status, headers.get("Retry-After"), headers.get("retry-after-ms"), json.loads(data).get("error", {}).get("type")) for status, headers, data in answers}
            # One at a time has the place; the others are told to come again.
            self.assertEqual(seen, {(200, None, None, None), refusal})
            for _ in range(20):  # whoever has an answer has left its place
                self.assertEqual(server.post(path, {"messages": HI, "max_tokens": 2})[0], 200)
            server.kill()

    def test_08_3_large_bodies_are_refused_by_their_length(self):
        server = self.serve("--max-body", "1KB")
        with socket.create_connection(("127.0.0.1", server.port), SECONDS) as connection:
            connection.sendall(b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n\r\n")
            heard = hear(connection)  # without a byte of the body; then the connection ends
        self.assertTrue(heard.startswith(b"HTTP/1.1 413 "), heard)
        self.assertEqual(json.loads(heard.split(b"\r\n\r\n", 1)[1])["error"]["type"], "request_too_large")
        self.assertEqual(server.request("GET", "/health")[0], 200)

    def test_12_metrics_under_the_peers_names(self):
        for whose, names in {"llamacpp": ("llamacpp:tokens_predicted_total", "llamacpp:requests_processing"), "vllm": ("vllm:num_requests_running", "vllm:generation_tokens_total", "vllm:time_to_first_token_seconds_count")}.items():
            server = self.serve("--metrics-compat", whose)
            server.post(CHAT, {"messages": HI, "max_tokens": 2})
            text = server.request("GET", "/metrics")[2].decode()
            for name in (*names, "anedvd:tokens_predicted_total"):
                self.assertRegex(text, rf"(?m)^{name}[ {{]")
            server.kill()

    def test_13_silence_is_filled_while_waiting_for_a_place(self):
        # On the simulator, whose steps take long enough for a quick machine to wait for the place.
        server = self.serve("--parallel", "1", "--sse-ping", "0.1", "--device", "sim")
        busy = self.open(server, CHAT, {"messages": HI, "stream": True, "n": 12} | LONG)
        self.assertTrue(eventually(lambda: server.running() > 0))
        chat = server.open(CHAT, {"messages": HI, "max_tokens": 1, "stream": True})
        begin = time.monotonic()
        hear(chat, b'"role":"assistant"')
        self.assertLess(time.monotonic() - begin, 5)  # a second where nothing else runs
        self.assertIn(b"\n: ping\n\n", hear(chat, b": ping\n\n"))
        messages = server.open(MESSAGES, {"messages": HI, "max_tokens": 1, "stream": True})
        heard = hear(messages, b"event: message_start")
        while heard.count(b"event: ping\ndata: {\"type\":\"ping\"}\n\n") < 3:  # the one of the beginning, and later ones
            chunk = messages.recv(65536)
            self.assertTrue(chunk, heard)
            heard += chunk
        for connection in (busy, chat, messages):
            connection.close()

    def test_13_the_end_waits_for_requests_in_the_queue(self):
        server = self.serve("--parallel", "1", "--drain", "100")
        ask = {"prompt": "the", "max_tokens": 200, "ignore_eos": True, "n": 8, "temperature": 0}
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            waiting = [pool.submit(server.post, RAW, ask) for _ in range(3)]
            self.assertTrue(eventually(lambda: server.metric("requests_deferred") > 8))  # all of them are there
            self.assertEqual(server.stop(), 0)
        for one in waiting:
            status, body = one.result()
            self.assertEqual((status, body["usage"]["completion_tokens"]), (200, 1600))
        with self.assertRaises(ConnectionRefusedError):
            server.request("GET", "/health")

    def test_14_01_who_leaves_costs_nothing_more(self):
        server = self.serve("--parallel", "1")
        for extra in ({"stream": True}, {}):
            waiting = [self.open(server, CHAT, {"messages": user("the lamp " * 60), "n": 8} | LONG | extra) for _ in range(3)]  # in prefill, and in the queue
            self.assertTrue(eventually(lambda: server.metric("requests_deferred") > 0))
            for connection in waiting:
                connection.close()
            self.assertTrue(eventually(lambda: server.running() + server.metric("requests_deferred") == 0, 10), extra)

if __name__ == "__main__":
    unittest.main()
