"""The environment that chat templates run in, made by Transformers itself, with the clock fixed."""
import contextlib
import datetime
import random

import jinja2
import transformers.utils.chat_template_utils as utils

CLOCK = 1753531200  # 2025-07-26 12:00 UTC


class FixedClock(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(CLOCK, datetime.timezone.utc).replace(tzinfo=None)


utils.datetime = FixedClock


def render(source, variables, wants_spans=False):
    """{"out": text} with "spans" in bytes, or {"error": message, "kind": class name}."""
    try:
        compiled = utils._cached_compile_jinja_template(source)
        if wants_spans:
            blocks, indices = [], []
            with compiled.environment.activate_tracker(blocks, indices):
                for block in compiled.generate(**variables):
                    blocks.append(block)
            out = "".join(blocks)
            to_byte = lambda i: len(out[:i].encode())
            return {"out": out, "spans": [to_byte(i) for pair in indices for i in pair]}
        out = compiled.render(**variables)
        out.encode()
        return {"out": out}
    except Exception as e:  # whatever Python raises is a failure of the template
        message = getattr(e, "message", None) or str(e)
        return {"error": message, "kind": type(e).__name__}
