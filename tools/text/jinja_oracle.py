"""The environment transformers renders chat templates in, rebuilt on jinja2 (transformers.utils.chat_template_utils).

Used by template_parity.py and make_template_constructs.py; not run by itself. Needs jinja2 >= 3.1.6.
"""

import datetime
import json

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

NOW = datetime.datetime(2026, 3, 5, 14, 7, 9)


class Generation(jinja2.ext.Extension):
    """{% generation %}: transformers' AssistantTracker, without the tracking."""

    tags = {"generation"}

    def parse(self, parser):
        lineno = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_render"), [], [], body).set_lineno(lineno)

    def _render(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    env = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = NOW.strftime
    return env


def with_both_reasonings(message):
    """anedvd offers a message's reasoning by both names that templates ask for."""
    if not isinstance(message, dict):
        return message
    out = dict(message)
    for here, there in (("reasoning_content", "thinking"), ("thinking", "reasoning_content")):
        if isinstance(message.get(here), str) and there not in message:
            out[there] = message[here]
    return out


def render(source, case):
    """The text, or an exception, for one case of template_driver's form."""
    template = environment().from_string(source)
    variables = {
        "messages": [with_both_reasonings(m) for m in case.get("messages") or []],
        "tools": case.get("tools"),
        "documents": case.get("documents"),
        "add_generation_prompt": case.get("add_generation_prompt", False),
    }
    variables.update(case.get("special_tokens") or {})
    variables.update(case.get("extra") or {})
    return template.render(**variables)
