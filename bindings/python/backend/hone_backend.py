"""Builds the wheel, as `pip install ./bindings/python` asks for it (PEP 517).

The wheel carries libhone, compiled from the tree that this folder is in, and the Python over it. Compiling takes a
C compiler. CMake, and make or Ninja, are asked of pip where the machine has none; nothing else is taken from an index.
`--config-settings build=FOLDER` takes a build folder that is there, instead of compiling everything in a fresh one."""
import base64
import hashlib
import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
import zipfile

import declare

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TREE = os.path.dirname(os.path.dirname(HERE))
INCLUDE = os.path.join(TREE, "include")
COMPILERS = ("cc", "gcc", "clang")

METADATA = """Metadata-Version: 2.1
Name: hone
Version: {version}
Summary: Run and fine-tune language models, and prove it
License: {license}
Requires-Python: >=3.9
Provides-Extra: numpy
Requires-Dist: numpy; extra == "numpy"
Description-Content-Type: text/markdown

{readme}"""


def text_of(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def version():
    if not os.path.isfile(os.path.join(INCLUDE, "hone", "version.h")):
        raise RuntimeError(f"{INCLUDE}/hone: expected hone's headers: this folder is built within hone's tree")
    parts = re.findall(r"^#define HN_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", text_of(INCLUDE, "hone", "version.h"), re.M)
    return ".".join(parts)


def metadata():
    license = text_of(TREE, "LICENSE").splitlines()[0].strip()
    return METADATA.format(version=version(), license=license, readme=text_of(HERE, "README.md"))


def lacking():
    """Of the tools that compile hone those that are not here, by the names of their packages."""
    tools = [] if shutil.which("cmake") else ["cmake"]
    return tools if shutil.which("ninja") or shutil.which("make") else tools + ["ninja"]


def demand(settings):
    """Says what is missing before CMake does, in more words."""
    if lacking():
        raise RuntimeError(f"{' and '.join(lacking())}: not found: hone is compiled by cmake, and make or ninja")
    if not settings.get("build") and not any(map(shutil.which, [*os.environ.get("CC", "").split()[:1], *COMPILERS])):
        raise RuntimeError(f"no C compiler: expected one in CC, or one of {', '.join(COMPILERS)}")


def compiled(folder, settings):
    """libhone.so, or what the system calls it."""
    demand(settings)
    build = settings.get("build")
    if not build:
        build = folder
        ninja = ["-G", "Ninja"] if shutil.which("ninja") else []
        subprocess.run(["cmake", "-S", TREE, "-B", build, *ninja, "-DCMAKE_BUILD_TYPE=Release", "-DHN_TESTS=OFF"],
                       check=True)
    subprocess.run(["cmake", "--build", build, "--target", "hone_shared", "-j", str(os.cpu_count() or 1)], check=True)
    cache = text_of(build, "CMakeCache.txt")
    strip = re.search(r"^CMAKE_STRIP:\w+=(/.*)$", cache, re.M)  # without one what is debugged with stays in the wheel
    for name in ("libhone.so", "libhone.dylib"):
        if os.path.exists(os.path.join(build, name)):
            library = shutil.copyfile(os.path.join(build, name), os.path.join(tempfile.mkdtemp(dir=folder), name))
            if strip and name.endswith(".so"):
                subprocess.run([strip[1], "--strip-unneeded", library], check=True)
            return library
    raise RuntimeError(f"{build}: expected a shared libhone, found none")


def contents(folder, settings):
    """(name in the wheel, bytes)."""
    library = compiled(folder, settings)
    source = os.path.join(HERE, "src", "hone")
    for name in sorted(os.listdir(source)):
        if name.endswith((".py", ".pyi")) or name == "py.typed":
            with open(os.path.join(source, name), "rb") as file:
                yield f"hone/{name}", file.read()
    for name, text in declare.modules(INCLUDE):
        yield f"hone/{name}", text.encode()
    with open(library, "rb") as file:
        yield f"hone/{os.path.basename(library)}", file.read()
    info = f"hone-{version()}.dist-info"
    yield f"{info}/METADATA", metadata().encode()
    yield f"{info}/licenses/LICENSE", text_of(TREE, "LICENSE").encode()
    yield f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: hone\nRoot-Is-Purelib: false\nTag: {tag()}\n".encode()


def tag():
    """Any Python 3, this system: nothing here is compiled against Python."""
    return "py3-none-" + re.sub(r"[^A-Za-z0-9]", "_", sysconfig.get_platform())


# ---- what pip calls ----


def get_requires_for_build_wheel(config_settings=None):
    return lacking()


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    info = f"hone-{version()}.dist-info"
    os.makedirs(os.path.join(metadata_directory, info))
    with open(os.path.join(metadata_directory, info, "METADATA"), "w", encoding="utf-8") as file:
        file.write(metadata())
    return info


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    settings = dict(config_settings or {})
    unknown = set(settings) - {"build"}
    if unknown:
        raise RuntimeError(f"--config-settings {sorted(unknown)[0]}: expected build=FOLDER")
    name = f"hone-{version()}-{tag()}.whl"
    record = f"hone-{version()}.dist-info/RECORD"
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        made = os.path.join(folder, name)
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as wheel:
            for path, data in contents(folder, settings):
                digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                lines.append(f"{path},sha256={digest},{len(data)}\n")
                entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))  # the same bytes of the same parts
                entry.external_attr = (0o755 if path.endswith((".so", ".dylib")) else 0o644) << 16
                entry.compress_type = zipfile.ZIP_DEFLATED
                wheel.writestr(entry, data)
            wheel.writestr(zipfile.ZipInfo(record, (1980, 1, 1, 0, 0, 0)), "".join(lines) + f"{record},,\n")
        shutil.move(made, os.path.join(wheel_directory, name))
    return name


def build_sdist(sdist_directory, config_settings=None):
    raise RuntimeError("hone's sources are its tree: `pip install ./bindings/python` within it, or `pip wheel`")
