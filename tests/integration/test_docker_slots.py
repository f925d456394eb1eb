"""A slot in a container: its isolation, the kernel's limits, and its removal with the slot or with its owner."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator

import docker
import pytest
from agnostics.plugins.manager import load_plugins
from agnostics.sandbox.backends.docker_slots import DockerSlot, DockerSlotFactory
from agnostics.sandbox.harness_binary import harness_path
from agnostics.sandbox.owner import owner_labels
from agnostics.sandbox.protocol import Job, ResultReader, RunResult, decode, encode
from agnostics.types.language import Language
from agnostics.types.verification import Verdict
from docker.errors import NotFound


@pytest.fixture(scope="module")
def slots() -> Iterator[DockerSlotFactory]:
    factory = DockerSlotFactory()
    yield factory
    factory.close()


@pytest.fixture(scope="module")
def lua() -> Language:
    return load_plugins().language("lua")


@pytest.fixture
def slot(slots: DockerSlotFactory, lua: Language) -> Iterator[DockerSlot]:
    started = slots.start(lua)
    yield started
    started.close()


@pytest.fixture(scope="module")
def engine() -> Iterator[docker.DockerClient]:
    client = docker.from_env(timeout=60)
    yield client
    client.close()


def run(slot: DockerSlot, program: str, *, memory_mb: int = 256, processes: int = 32) -> RunResult:
    slot.set_limits(memory_mb, processes)
    job = Job(
        {"snippet.lua": program.encode()},
        None,
        ["luajit", "snippet.lua"],
        {},
        [(b"", b"")],
        run_s=2,
        compile_s=30,
        memory_mb=memory_mb,
        compile_mb=512,
        processes=processes,
        output_bytes=1 << 20,
    )
    slot.connection.settimeout(60)
    slot.connection.sendall(encode(job))
    results = ResultReader()
    while chunk := slot.connection.recv(1 << 16):
        for body in results.feed(chunk):
            return decode(body).tests[0]
    raise ConnectionResetError


def shell(slot: DockerSlot, command: str) -> str:
    """What `command` prints when a program gives it to the shell."""
    return run(slot, f"os.execute([==[{command}]==])").stdout.decode()


def containers_of(engine: docker.DockerClient, pid: int) -> list[str]:
    return [
        c.id or ""
        for c in engine.containers.list(all=True, filters={"label": f"agnostics.pid={pid}"}, ignore_removed=True)
    ]


def removed_within(seconds: float, engine: docker.DockerClient, name: str) -> bool:
    """The engine may still be at it when the slot is closed: the container also removes itself."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            engine.containers.get(name)
        except NotFound:
            return True
        time.sleep(0.05)
    return False


def gone_within(seconds: float, engine: docker.DockerClient, pid: int) -> bool:
    deadline = time.monotonic() + seconds
    while containers_of(engine, pid):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def test_program_is_an_ordinary_user_without_groups_or_capabilities(slot: DockerSlot) -> None:
    uid, gid, groups = shell(slot, "id -u; id -g; id -G").split()
    assert int(uid) >= 30_000
    assert uid == gid == groups
    status = dict(line.split(":\t") for line in shell(slot, "cat /proc/self/status").splitlines() if ":\t" in line)
    assert int(status["CapPrm"], 16) == int(status["CapEff"], 16) == 0
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"


def test_root_in_a_container_is_no_account_of_the_machine_and_other_users_are_themselves(slot: DockerSlot) -> None:
    users = [tuple(map(int, line.split())) for line in shell(slot, "cat /proc/self/uid_map").splitlines()]
    inside, outside, counts = zip(*users, strict=True)
    assert inside[0] == 0
    assert outside[0] >= 30_000
    assert inside[1:] == outside[1:]
    assert counts == (1, 1, 1)


def test_a_container_has_the_system_call_filter_of_the_harness(slot: DockerSlot, engine: docker.DockerClient) -> None:
    (option,) = (
        option
        for option in engine.containers.get(slot.container_id).attrs["HostConfig"]["SecurityOpt"]
        if option.startswith("seccomp=")
    )
    rules = json.loads(option.removeprefix("seccomp="))
    allowed = {name: rule for rule in rules["syscalls"] for name in rule["names"]}
    assert rules["defaultAction"] == "SCMP_ACT_ERRNO"
    assert {"read", "execve", "memfd_create"} < allowed.keys()
    assert not {"ptrace", "bpf", "io_uring_setup", "keyctl", "mount", "shmget", "process_vm_readv"} & allowed.keys()
    assert allowed["unshare"]["args"] == [{"index": 0, "value": 0x10000000, "op": "SCMP_CMP_EQ"}]


def test_where_no_user_namespace_can_be_made_the_harness_starts_without_one() -> None:
    """The map is no map, which the kernel refuses as it does a whole namespace elsewhere."""
    strict, lenient = (
        subprocess.run([harness_path(), "--join", option, "no map", "--", "true"], timeout=10, capture_output=True)
        for option in ("--users", "--users-if-allowed")
    )
    assert (strict.returncode, lenient.returncode) == (3, 0)


def test_programs_of_two_slots_are_different_users(slots: DockerSlotFactory, lua: Language, slot: DockerSlot) -> None:
    other = slots.start(lua)
    try:
        assert shell(slot, "id -u") != shell(other, "id -u")
    finally:
        other.close()


def test_program_can_write_to_its_two_folders_only(slot: DockerSlot) -> None:
    writable = shell(slot, "find / -path /proc -prune -o -path /dev -prune -o -writable ! -type l -print 2>/dev/null")
    assert set(writable.split()) == {"/w", "/tmp"}
    assert shell(slot, "find /dev -type d -writable; find /dev -type f").split() == []


def test_program_sees_no_network_and_no_other_process(slot: DockerSlot) -> None:
    assert shell(slot, "ls /sys/class/net").split() == ["lo"]
    assert shell(slot, "cat /proc/[0-9]*/comm").split()[0] == "harness"
    assert shell(slot, "ls /run/agnostics 2>&1; cat /proc/1/environ 2>&1").count("Permission denied") == 2


def test_memory_limit_is_the_kernels(slot: DockerSlot) -> None:
    hog = "local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1e6) .. i end"
    assert run(slot, hog, memory_mb=64).verdict is Verdict.MEMORY_LIMIT
    assert shell(slot, "cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null") == (
        f"{256 << 20}\n"
    )


def test_fork_bomb_stays_in_its_slot(slot: DockerSlot, slots: DockerSlotFactory, lua: Language) -> None:
    other = slots.start(lua)
    try:
        bomb = run(slot, "os.execute([[f() { f | f; }; f]])", processes=16)
        assert b"fork" in bomb.stderr
        assert shell(other, "echo still here") == "still here\n"
        assert shell(slot, "echo still here") == "still here\n"
    finally:
        other.close()


def test_closing_a_slot_removes_its_container(
    slots: DockerSlotFactory, lua: Language, engine: docker.DockerClient
) -> None:
    slot = slots.start(lua)
    name = slot.container_id
    assert engine.containers.get(name).status == "running"
    slot.close()
    slot.close()
    assert removed_within(60, engine, name)


def test_killed_container_closes_the_connection(slot: DockerSlot, engine: docker.DockerClient) -> None:
    engine.containers.get(slot.container_id).kill()
    slot.connection.settimeout(10)
    assert slot.connection.recv(1) == b""


OWNER = """
import sys
from agnostics.plugins.manager import load_plugins
from agnostics.sandbox.backends.docker_slots import DockerSlotFactory
slot = DockerSlotFactory().start(load_plugins().language("lua"))
print("started", flush=True)
sys.stdin.read()
"""


def test_container_of_a_killed_owner_goes_by_itself(engine: docker.DockerClient) -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"started\n"
        assert len(containers_of(engine, owner.pid)) == 1
    finally:
        owner.kill()
        owner.communicate(timeout=10)
    assert gone_within(60, engine, owner.pid)


def test_leftovers_of_dead_owners_are_removed_and_those_of_living_ones_stay(
    slot: DockerSlot, engine: docker.DockerClient
) -> None:
    image = engine.containers.get(slot.container_id).image
    assert image is not None
    dead = {**owner_labels(), "agnostics.started": "1"}
    leftover = engine.containers.create(image, command=["true"], labels=dead)
    DockerSlotFactory().close()
    with pytest.raises(NotFound):
        leftover.reload()
    assert engine.containers.get(slot.container_id).status == "running"
