"""hone: runs and fine-tunes language models.

    import hone

    chat = hone.Chat()  # with the model that is part of the library
    for piece in chat.stream("Tell me a story."):
        print(piece, end="", flush=True)
"""
from ._library import c as library
from .chat import Answer, Chat, End, Piece, Stream, Turn
from .embed import Embedder, Embedding
from .engine import Engine, Memory
from .errors import Busy, Cancelled, Closed, Error, Status
from ._finetune import Estimate, Evaluation, Result, Step, finetune, plan
from .graph import Builder, Exec, Node, Trainer, decode, encode
from .model import BUILTIN, Decoder, Model
from .session import Sampler, Session

__version__: str = library.hn_version().decode()

__all__ = [
    "Answer", "BUILTIN", "Builder", "Busy", "Cancelled", "Chat", "Closed", "Decoder", "Embedder", "Embedding", "End",
    "Engine", "Error", "Estimate", "Evaluation", "Exec", "Memory", "Model", "Node", "Piece", "Result", "Sampler",
    "Session", "Status", "Step", "Stream", "Trainer", "Turn", "decode", "encode", "finetune",
    "library", "plan",
]
