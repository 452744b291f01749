#!/usr/bin/env python3
"""Makes the pictures of docs/page: every state of the page, in light, in dark and on a phone.

    build/venv/bin/python tests/webui/pictures.py [FOLDER]          default: docs/page; needs what the tests of the page need

The server says what a picture needs, so nothing depends on a model. Look at them before they are committed.
"""

import base64
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from page_support import Browser, ScriptedServer

ANSWER = """Tides are the rise and fall of the sea, made by the **Moon** and, less so, by the Sun.

The pull of the Moon is not the same everywhere: the near side of the Earth feels more of it than the far side. That difference falls with the cube of the distance:

\\[a \\approx \\frac{2 G M r}{d^3}\\]

```python
def pull(mass, radius, distance):
    return 2 * G * mass * radius / distance ** 3
```

| body | share |
|------|------:|
| Moon | 68 % |
| Sun  | 32 % |
"""
QUESTION = "Explain how tides work, with a formula."
USAGE = {"prompt_tokens": 212, "completion_tokens": 148}


class Studio:
    def __init__(self, folder: pathlib.Path, width: int, height: int, scheme: str, mobile=False):
        self.folder = folder
        self.server = ScriptedServer([ANSWER], usage=dict(USAGE))
        self.page = Browser(width if not mobile else 500, height + 120)
        self.page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile})
        self.page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}]})
        self.page.open(self.server.url)
        self.page.until("return document.getElementById('model').value")

    def take(self, name: str):
        time.sleep(0.4)
        picture = self.page.driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "webp", "quality": 60})
        (self.folder / f"{name}.webp").write_bytes(base64.b64decode(picture["data"]))

    def answered(self, text=QUESTION):
        self.page.ask(text)
        self.page.wait_answered()
        self.page.js("document.activeElement.blur(); document.getElementById('log').scrollTop = 0")

    def caught(self, text: str, pieces, shown: str):
        """While an answer is under way."""
        self.server.pieces = list(pieces)
        self.page.ask(text)
        self.page.until("return document.body.innerText.includes(arguments[0])", shown)

    def close(self):
        self.page.close()
        self.server.close()


def desktop(folder: pathlib.Path, scheme: str):
    studio = Studio(folder, 1100, 760, scheme)
    studio.take(f"empty-{scheme}")
    studio.answered()
    studio.take(scheme)
    if scheme == "light":
        studio.caught("And the neap tides?", [part for i in range(400) for part in ("When the Sun and the Moon stand at right angles, " if i == 0 else f"they pull against each other ({i}), ", 0.2)], "(2)")
        studio.take("answering")
        studio.page.click("Stop")
        studio.page.wait_answered()
        studio.take("stopped")
        studio.server.pieces, studio.server.finish = ["Neap tides come twice a month, and"], "length"
        studio.page.click("Regenerate", "article.answer:last-of-type")
        studio.page.until("return document.querySelector('.count')?.textContent === '2/2'")
        studio.page.wait_answered()
        studio.take("length")
        studio.server.finish = None
        studio.page.click("Regenerate", "article.answer:last-of-type")
        studio.page.until("return document.querySelector('.count')?.textContent === '3/3'")
        studio.page.wait_answered()
        studio.take("cut-off")
        studio.page.js("warnUser('')")
        studio.server.pieces, studio.server.finish = ["The answer."], "stop"
        studio.server.usage = {"prompt_tokens": 3890, "completion_tokens": 20, "prompt_tokens_dropped": 1280}
        studio.answered("What did I ask first?")
        studio.page.js("document.getElementById('log').scrollTop = 1e6")
        studio.take("context")
        studio.page.click("Settings")
        studio.take("settings")
        studio.page.js("document.getElementById('settings').close(); askKey()")
        studio.take("key")
        studio.page.js("document.getElementById('key').close()")
        studio.server.close()
        studio.page.until("return document.body.innerText.includes('Can’t reach anedvd at')", seconds=30)
        studio.take("down")
        studio.page.close()
        return
    studio.close()


def phone(folder: pathlib.Path):
    studio = Studio(folder, 360, 640, "light", mobile=True)
    studio.answered()
    studio.take("phone")
    studio.page.click("Chats")
    studio.take("phone-chats")
    studio.close()
    studio = Studio(folder, 360, 640, "dark", mobile=True)
    studio.answered()
    studio.take("phone-dark")
    studio.close()


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent.parent / "docs" / "page"
    target.mkdir(parents=True, exist_ok=True)
    for shade in ("light", "dark"):
        desktop(target, shade)
    phone(target)
