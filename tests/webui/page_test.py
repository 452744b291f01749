#!/usr/bin/env python3
"""The page in a real Chromium, on the program that serves it and on a server that says what a test needs.

    ANEDVD_PROGRAM=build/bin/anedvd python3 -m unittest -v tests/webui/page_test.py

Skipped, saying why, where Chromium, its driver or selenium are missing. The numbers are those of the list of what the page promises.
"""

import json
import pathlib
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from page_support import PAGE, PageCase

ATTACKS = [
    "<script>window.hit=1</script>", "<img src=x onerror=window.hit=1>", "[a](javascript:window.hit=1)", "[a](JaVaScRiPt:window.hit=1)", "[a](data:text/html,<script>1</script>)",
    "![a](http://evil.invalid/x.png)", "![a](data:image/svg+xml,<svg onload=window.hit=1>)", "<svg onload=window.hit=1>", "<iframe src=http://evil.invalid></iframe>", "[a](vbscript:x)",
    "[a](http://e.invalid/\"onmouseover=window.hit=1)", "<a href='javascript:window.hit=1'>x</a>", "`<img src=x onerror=window.hit=1>`", "```html\n<script>window.hit=1</script>\n```",
    "<style>@import 'http://evil.invalid/x.css'</style>", "<link rel=stylesheet href=http://evil.invalid/x.css>", "| <img src=x onerror=window.hit=1> |\n|--|--|\n| a |", "# <b onclick=window.hit=1>x</b>",
    "<base href=http://evil.invalid/>", "<form action=http://evil.invalid><button>x</button></form>", "[![a](http://evil.invalid/1)](javascript:1)", "<https://evil.invalid/\"><script>window.hit=1</script>", "<meta http-equiv=refresh content='0;url=http://evil.invalid'>",
]


class PageTest(PageCase):
    def test_21_loads_without_console_message_or_foreign_request(self):
        server, page = self.real(), self.browser()
        page.open(server.url)
        page.until("return document.getElementById('model').value")
        self.assertEqual(page.console(), [])
        self.assertEqual([url for url in page.requested() if not url.startswith((server.url, "data:", "chrome:"))], [])
        text = PAGE.read_text()
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            self.assertNotIn(word, text)

    def test_22_enter_streams_in_visible_steps(self):
        server, page = self.scripted(*(part for i in range(8) for part in (f"word{i} ", 0.15))), self.browser()
        page.open(server.url)
        page.ask("hi")
        page.until("return !document.getElementById('stop').hidden")
        steps = set()
        while page.js("return document.getElementById('send').hidden"):
            steps.add(tuple(page.answers()))
            time.sleep(0.03)
        self.assertGreater(len(steps), 3)
        self.assertTrue(page.is_shown("Send"))
        self.assertEqual(page.answers(), ["".join(f"word{i} " for i in range(8))])

    def test_22_real_server_answers(self):
        server, page = self.real(), self.browser()
        page.open(server.url)
        page.ask("hi there")
        page.wait_answered(120)
        self.assertTrue(page.answers()[0])
        self.assertIn("tok/s", page.js("return document.querySelector('article.answer .bar').textContent"))

    def test_23_stop_keeps_the_text_and_the_next_message_is_answered(self):
        server, page = self.scripted(*(part for i in range(100) for part in (f"w{i} ", 0.05))), self.browser()
        page.open(server.url)
        page.ask("one")
        page.until("return document.querySelector('article.answer')?.textContent.includes('w12')")
        page.click("Stop")
        page.wait_answered()
        end = time.monotonic() + 2
        while not server.left and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(server.left, 1, "the connection was not closed")
        self.assertIn("w12", page.answers()[0])
        self.assertIn("Stopped", page.js("return document.querySelector('article.answer .tags').textContent"))
        server.pieces = ["second"]
        page.ask("two")
        page.wait_answered()
        self.assertEqual(page.answers()[1], "second")
        self.assertEqual([message["role"] for message in server.requests[-1]["messages"]], ["user", "assistant", "user"])

    def test_24_reload_in_mid_answer_shows_it_as_interrupted_with_the_draft(self):
        server, page = self.scripted("partial ", "text", 30), self.browser()
        page.open(server.url)
        page.ask("one")
        page.until("return document.querySelector('article.answer')?.textContent.includes('text')")
        page.named("Message").send_keys("my draft")
        time.sleep(1.5)
        page.open(server.url)
        page.until("return document.querySelector('article.answer .tags')?.textContent.includes('lost')")
        self.assertEqual(page.answers(), ["partial text"])
        self.assertEqual(page.js("return document.getElementById('box').value"), "my draft")
        self.assertTrue(page.is_shown("Continue"))

    def test_25_settings_survive_a_reload_and_only_set_fields_are_sent(self):
        server, page = self.scripted(), self.browser()
        page.open(server.url)
        page.click("Settings")
        for name, value in {"Temperature": "0.3", "Max tokens": "77", "System prompt": "Be brief."}.items():
            page.named(name, "#settings").send_keys(value)
        self.assertEqual(page.named("Top-p", "#settings").get_attribute("value"), "")
        page.open(server.url)
        page.ask("hi")
        page.wait_answered()
        body = server.requests[0]
        self.assertEqual((body["temperature"], body["max_tokens"], body["messages"][0]), (0.3, 77, {"role": "system", "content": "Be brief."}))
        for name in ("top_p", "min_p", "top_k", "repetition_penalty", "seed", "stop", "presence_penalty", "logprobs"):
            self.assertNotIn(name, body)

    def test_26_attacks_run_and_fetch_nothing(self):
        server, page = self.scripted("\n\n".join(ATTACKS)), self.browser()
        page.open(server.url)
        box = page.named("Message")
        page.js("arguments[0].value = arguments[1]", box, "\n".join(ATTACKS))
        page.click("Send")
        page.wait_answered()
        page.js("importText(arguments[0])", json.dumps({"format": "anedvd-chats", "version": 1, "conversations": [
            {"id": "<img src=x onerror=window.hit=1>", "title": ATTACKS[1], "__proto__": {"x": 1}, "messages": [{"role": "assistant", "text": "\n\n".join(ATTACKS), "model": ATTACKS[0], "parent": None}]}]}))
        page.until("return [...document.querySelectorAll('#list li > button')].some(e => e.textContent.startsWith('<img'))")
        page.js("[...document.querySelectorAll('#list li > button')].find(e => e.textContent.startsWith('<img')).click()")
        page.until("return document.querySelectorAll('article').length === 1")
        time.sleep(0.5)
        self.assertIsNone(page.js("return window.hit ?? null"))
        self.assertEqual(page.js("return document.querySelectorAll('#log script, #log img, #log iframe, #log style, #log link, #log form, #log base, #log meta').length"), 0)
        self.assertEqual(page.js("return [...document.querySelectorAll('#log a')].filter(a => !/^(https?|mailto):$/.test(a.protocol)).length"), 0)
        self.assertEqual([url for url in page.requested() if not url.startswith((server.url, "data:", "chrome:"))], [])
        self.assertEqual(page.console(), [])

    def test_27_money_names_and_products_show_as_typed(self):
        text = "$5 to $7, snake_case_name and 2 * 3 * 4 and a*b."
        server, page = self.scripted(*text), self.browser()
        page.open(server.url)
        page.ask(text)
        page.wait_answered()
        self.assertEqual((page.questions(), page.answers()), ([text], [text]))

    def test_28_a_growing_code_block_can_be_copied_and_keeps_its_selection(self):
        server, page = self.scripted("```py\nfirst line\n", 0.1, "second", *(part for i in range(40) for part in (0.1, f" w{i}"))), self.browser()
        page.open(server.url)
        page.ask("code")
        page.until("return document.querySelector('.fence code')?.textContent.includes('second')")
        page.js("const node = document.querySelector('.fence code').firstChild, range = document.createRange(); range.setStart(node, 0); range.setEnd(node, 10); getSelection().removeAllRanges(); getSelection().addRange(range);"
                "window.copied = null; copyText = async text => { window.copied = text; return true; }")
        page.click("Copy code")
        self.assertTrue(page.until("return window.copied").startswith("first line\nsecond"))
        page.until("return document.querySelector('.fence code').textContent.includes('w20')")
        self.assertEqual(page.js("return getSelection().toString()"), "first line")

    def test_29_scrolling_up_holds_still_until_jump_to_latest(self):
        server, page = self.scripted(*(part for i in range(60) for part in (f"Paragraph {i} with some words.\n\n", 0.06))), self.browser()
        page.open(server.url)
        page.ask("long")
        page.until("return document.getElementById('log').scrollTop > 300")
        page.js("const log = document.getElementById('log'); log.dispatchEvent(new WheelEvent('wheel', {deltaY: -100})); log.scrollTop -= 200")
        time.sleep(0.2)
        before = page.js("return document.getElementById('log').scrollTop")
        page.wait_answered()
        self.assertLess(abs(page.js("return document.getElementById('log').scrollTop") - before), 60)
        page.click("Jump to latest")
        self.assertTrue(page.js("return atEnd()"))

    def test_30_ten_thousand_tokens_stay_quick(self):
        page, server = self.browser(), self.scripted()
        page.open(server.url)
        # A ratio, for a busy machine is slow at both: four times the text in four times the time is linear, sixteen times would be quadratic.
        for kind, piece in (("lines", "word of text\n\n"), ("one line", "word of text "), ("no blanks", "词语"), ("open marks", "**x*y`[")):
            took = page.js("""const write = times => { const box = document.createElement('div'); document.getElementById('log').append(box); const md = new Markdown(box), start = performance.now();
                for (let i = 0; i < times; ++i) md.write(arguments[0].repeat(10));
                md.end(); box.remove(); return performance.now() - start; };
                write(50);
                return [Math.min(write(250), write(250), write(250)), write(1000)]""", piece)
            with self.subTest(kind, milliseconds=took):
                self.assertLess(took[1], max(9 * took[0], 500))

    def test_30_the_first_letter_gives_the_direction(self):
        page, server = self.browser(), self.scripted()
        page.open(server.url)
        found = page.js(r"""const box = document.createElement('div'); document.getElementById('log').append(box); const md = new Markdown(box);
            for (const piece of ['1. ', '`a` ', 'שלום\n', '2. two\n', '\nplain\n\n', '> مرحبا\n\n', '## 12 ', 'heading\n', '42\n']) md.write(piece);
            md.end(); const all = [...box.querySelectorAll('ol, li, p, blockquote, h4')].map(e => [e.tagName, e.dir, getComputedStyle(e).direction]); box.remove(); return all""")
        shown = [(tag, direction) for tag, _, direction in found]
        self.assertEqual([one for one in shown if one[0] in ("OL", "BLOCKQUOTE", "H4")], [("OL", "rtl"), ("BLOCKQUOTE", "rtl"), ("H4", "ltr")], found)
        self.assertEqual([direction for tag, direction in shown if tag == "LI"], ["rtl", "ltr"], found)
        self.assertEqual([direction for tag, direction in shown if tag == "P"][-1], "ltr", found)

    def test_31_nothing_scrolls_sideways_at_320(self):
        server, page = self.scripted("a" * 300, "\n\n```\n" + "x" * 200 + "\n```\n\n", "|a|b|c|\n|-|-|-|\n|" + "y" * 90 + "|b|c|\n"), self.browser(500, 700)
        page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 320, "height": 568, "deviceScaleFactor": 1, "mobile": True})
        page.open(server.url)
        page.ask("w" * 200)
        page.wait_answered()
        wide = page.js("return [document.documentElement.scrollWidth, document.getElementById('log').scrollWidth, innerWidth, document.getElementById('log').clientWidth]")
        self.assertLessEqual(wide[0], wide[2])
        self.assertLessEqual(wide[1], wide[3])
        self.assertLessEqual(page.js("return document.getElementById('send').getBoundingClientRect().bottom"), 568)

    def test_33_enter_of_an_input_method_sends_nothing(self):
        server, page = self.scripted(), self.browser()
        page.open(server.url)
        page.named("Message").send_keys("にほん")
        page.js("const box = document.getElementById('box'); box.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', isComposing: true, bubbles: true, cancelable: true})); box.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', keyCode: 229, bubbles: true, cancelable: true}))")
        time.sleep(0.3)
        self.assertEqual((server.requests, page.questions()), ([], []))

    def test_34_few_announcements_for_a_long_answer(self):
        server, page = self.scripted(*(part for i in range(200) for part in (f"w{i} ", 0.01))), self.browser()
        page.open(server.url)
        page.js("window.said = 0; for (const id of ['status', 'alert']) new MutationObserver(() => ++window.said).observe(document.getElementById(id), {childList: true, characterData: true, subtree: true})")
        page.ask("long")
        page.wait_answered()
        self.assertLess(page.js("return window.said"), 10)
        self.assertEqual(page.js("return document.getElementById('log').getAttribute('aria-live')"), "off")
        self.assertTrue(page.js("return document.getElementById('status').textContent").startswith("Answer complete. w0"))


if __name__ == "__main__":
    unittest.main()
