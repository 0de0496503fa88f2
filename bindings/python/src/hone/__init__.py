"""hone: runs and fine-tunes language models.

    import hone

    chat = hone.Chat()  # with the model that is part of the library
    for piece in chat.stream("Tell me a story."):
        print(piece, end="", flush=True)
"""
from ._library import c as library
from ._record import Record
from .batch import Batch
from .chat import Answer, Chat, End, Piece, Stream, Turn
from .draft import Drafter
from .embed import Embedder, Embedding
from .engine import Engine, Memory
from .errors import Busy, Cancelled, Closed, Error, Status
from ._finetune import Estimate, Evaluation, Result, Step, finetune, plan, report, told
from .examples import Example, Examples, Gradients, Token, check_settings, data_settings, goal_settings, goals, run_settings
from .files import (
    File, Merge, MergeError, convert, export_gguf, export_peft, import_adapter, make, make_tokenizer, merge,
    numerics_name, quantize, recipe_type, texts, use_name,
)
from .grammar import Grammar, Mask, Matcher
from .graph import Builder, Exec, Node, Trainer, decode, encode, read_array, types, write_array
from .known import arch, arch_keys, archs, call_families, choice_number, choices, device_ops, devices, file_kinds, levels, recipes
from .model import BUILTIN, Decoder, Model, Template
from ._plan import Plan, Planned
from ._run import Run
from .prove import Certificate, ProofError, prove
from .reader import Reader, Said
from .scheduler import Disk, Drawn, Ended, Scheduler, Scored
from .session import Sampler, Session

__version__: str = library.hn_version().decode()

__all__ = [
    "Answer", "BUILTIN", "Batch", "Builder", "Busy", "Cancelled", "Certificate", "Chat", "Closed", "Decoder", "Disk", "Drafter", "Drawn",
    "Embedder", "Embedding", "End", "Ended", "Engine", "Error", "Estimate", "Evaluation", "Example", "Examples", "Exec", "File", "Gradients", "Grammar", "Mask", "Matcher", "Memory",
    "Merge", "MergeError", "Model", "Node", "Piece", "Plan", "Planned", "ProofError", "Reader", "Record", "Result", "Run", "Said", "Sampler",
    "Scheduler", "Scored", "Session",
    "Status", "Step", "Stream", "Template", "Token", "Trainer", "Turn", "arch", "arch_keys", "archs", "call_families", "check_settings",
    "choice_number", "choices",
    "convert", "data_settings", "decode", "device_ops", "devices", "encode", "export_gguf", "export_peft", "file_kinds", "finetune", "goal_settings", "goals",
    "import_adapter", "levels", "library", "make", "make_tokenizer", "merge", "numerics_name", "plan", "prove", "quantize",
    "read_array", "recipe_type", "recipes", "report", "run_settings", "texts", "told", "types", "use_name", "write_array",
]
