"""Where anedvd is run against the stand-in: here, on 64-bit Arm under qemu, and from the macOS executable (under machrun, under qemu).

What was not built is left out, with the words that say how to build it: scripts/mac-check builds all of it.
"""

import dataclasses
import json
import os
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/data"
LIBRARY = "tests/standin/libanedvd_standin.so"  # in a build folder
SECONDS = 600
QEMU = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
BUILT_BY = "scripts/mac-check builds it"


@dataclasses.dataclass(frozen=True)
class Machine:
    name: str
    command: tuple  # the program and what runs it
    library: pathlib.Path  # the stand-in, built for the processor that the command runs on
    own_environment: dict = dataclasses.field(default_factory=dict)  # what the command needs

    def environment(self, standin=True) -> dict:
        env = dict(os.environ) | self.own_environment
        env.pop("ANEDVD_ANE_FRAMEWORK", None)
        return env | ({"ANEDVD_ANE_FRAMEWORK": str(self.library)} if standin else {})

    def run(self, *arguments, standin=True, environment=None, seconds=SECONDS) -> subprocess.CompletedProcess:
        """Runs one command of anedvd in the folder of the tiny models, with the stand-in as its framework unless told otherwise."""
        return subprocess.run(
            [*map(str, self.command), *map(str, arguments)],
            cwd=DATA, env=self.environment(standin) | (environment or {}), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds, check=False,
        )  # fmt: skip

    def json(self, *arguments, **options) -> dict:
        done = self.run(*arguments, "--json", **options)
        if done.returncode != 0:
            raise AssertionError(f"{self.name}: {' '.join(map(str, arguments))}: exit code {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)


def native_program() -> pathlib.Path:
    return pathlib.Path(os.environ.get("ANEDVD_PROGRAM", ROOT / "build/bin/anedvd")).resolve()


def native() -> Machine | str:
    program = native_program()
    library = pathlib.Path(os.environ.get("ANEDVD_STANDIN", program.parent.parent / LIBRARY)).resolve()
    return Machine("here", (program,), library) if library.exists() else f"{library} is not built; ninja -C build makes it"


def built(*needed: pathlib.Path) -> str | None:
    """Why something under qemu cannot run; None when it can."""
    if QEMU is None:
        return "qemu-aarch64-static is not installed (Debian: qemu-user-static)"
    return next((f"{path} is not built; {BUILT_BY}" for path in needed if not path.exists()), None)


def arm_folder() -> pathlib.Path:
    return pathlib.Path(os.environ.get("ANEDVD_ARM_BUILD", ROOT / "build-arm-qemu")).resolve()


def arm() -> Machine | str:
    program, library = arm_folder() / "bin/anedvd", arm_folder() / LIBRARY
    return built(program, library) or Machine("64-bit Arm", (QEMU, program), library)


def mac() -> Machine | str:
    machrun = pathlib.Path(os.environ.get("ANEDVD_MACHRUN", ROOT / "build-machrun/machrun")).resolve()
    program = pathlib.Path(os.environ.get("ANEDVD_MAC_PROGRAM", ROOT / "build-macos-zig/bin/anedvd")).resolve()
    library = arm_folder() / LIBRARY  # code of the executable calls it: one processor, two systems
    emulator = (QEMU, "-cpu", "max", machrun)
    return built(machrun, program, library) or Machine(
        "macOS executable", (*emulator, program), library, {"MACHRUN_SELF": " ".join(map(str, emulator))}
    )


MACHINES = {"native": native, "arm": arm, "mac": mac}
