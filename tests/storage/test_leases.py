"""Leases: one holder at a time, whatever the hosts' clocks say, and a killed holder keeps nobody out for long."""

import asyncio
import itertools

import pytest

from reverie.errors import StoreBusy
from reverie.storage.host_chains import HostChain, chain_of
from reverie.storage.locks import HostLock, Lease, ProcessLock, StoredObject, check_leases, held_lease

pytestmark = pytest.mark.anyio


class Objects:
    """Objects in memory that keep to conditional writes; `bucket.py` has the real ones."""

    def __init__(self) -> None:
        self.there: dict[str, StoredObject] = {}
        self.lose_answers = 0
        self._tags = map(str, itertools.count())

    async def get(self, key: str) -> StoredObject | None:
        await asyncio.sleep(0)
        return self.there.get(key)

    async def put(self, key: str, content: bytes, *, instead_of: str | None) -> str | None:
        await asyncio.sleep(0)
        if (self.there[key].tag if key in self.there else None) != instead_of:
            return None
        self.there[key] = StoredObject(content, next(self._tags))
        if self.lose_answers:  # the client tries again, and is told that somebody was quicker
            self.lose_answers -= 1
            return None
        return self.there[key].tag


class HostClock:
    """The monotonic clock of one host: it starts anywhere, and moves when the test says so."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


async def test_one_host_at_a_time_holds_a_lease_and_its_number_rises():
    objects, inside, numbers = Objects(), 0, list[int]()

    async def work() -> None:
        nonlocal inside
        async with Lease(objects, "leases/write").held() as lease:
            inside += 1
            assert inside == 1
            numbers.append(lease.number)
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(work() for _ in range(8)))
    assert numbers == sorted(set(numbers))
    assert len(numbers) == 8


async def test_a_killed_holder_is_followed_after_its_time_by_the_clock_of_who_waits():
    objects = Objects()
    ahead, behind = HostClock(3_600.0), HostClock(0.0)  # an hour apart: nobody compares them
    killed = Lease(objects, "write", clock=ahead)
    assert await killed._try() is not None  # taken, and then neither renewed nor given back
    other = Lease(objects, "write", seconds=15.0, clock=behind)
    async with other.held_if_free() as lease:
        assert lease is None
    behind.now += 14.9
    async with other.held_if_free() as lease:
        assert lease is None
    behind.now += 0.2
    async with other.held_if_free() as lease:
        assert lease is not None
        assert lease.number == 2


async def test_a_lease_that_a_killed_process_of_the_same_host_left_is_free_at_once():
    objects = Objects()
    assert await Lease(objects, "write", host="one")._try() is not None  # and killed: the system freed its lock file
    async with Lease(objects, "write", host="two").held_if_free() as lease:
        assert lease is None
    async with Lease(objects, "write", host="one").held_if_free() as lease:
        assert lease is not None
        assert lease.number == 2


async def test_a_holder_that_renews_keeps_the_lease_however_long_it_works():
    objects, clock = Objects(), HostClock(100.0)
    other = Lease(objects, "write", seconds=0.06)
    async with Lease(objects, "write", seconds=0.06).held() as held:
        for _ in range(10):
            await asyncio.sleep(0.02)
            async with other.held_if_free() as lease:
                assert lease is None
        held.check()
    async with Lease(objects, "write", clock=clock).held_if_free() as lease:
        assert lease is not None


async def test_a_holder_that_was_held_up_finds_out_before_it_writes():
    objects, clock = Objects(), HostClock(0.0)
    async with Lease(objects, "write", seconds=15.0, clock=clock).held():
        check_leases()
        clock.now += 13.0  # suspended: it could not renew, and others may have counted 15 seconds by now
        with pytest.raises(StoreBusy, match="another may hold the lease"):
            check_leases()
    check_leases()  # outside of the block nothing is held


async def test_a_write_whose_answer_was_lost_is_recognised_as_our_own():
    objects = Objects()
    objects.lose_answers = 1
    async with Lease(objects, "write").held(patience=0.0) as lease:
        assert lease.number == 1
        objects.lose_answers = 1  # giving it back
    async with Lease(objects, "write").held(patience=0.0) as lease:
        assert lease.number == 2


async def test_a_task_that_outlives_the_block_is_not_held_to_its_lease():
    objects, clock, later = Objects(), HostClock(0.0), asyncio.Event()

    async def afterwards() -> None:
        await later.wait()
        check_leases()

    async with Lease(objects, "write", clock=clock).held():
        task = asyncio.create_task(afterwards())
        await asyncio.sleep(0)
    clock.now += 100.0
    later.set()
    await task


async def test_processes_of_one_host_wait_for_the_file_and_ask_for_the_lease_one_by_one(tmp_path):
    objects, acquired = Objects(), list[str]()
    locks = [
        HostLock(
            ProcessLock(tmp_path / "write.lock"), Lease(objects, "leases/write"), lambda: acquired.append("fresh")
        )
        for _ in range(4)
    ]

    async def work(lock: HostLock) -> None:
        async with lock.held():
            lease = held_lease("/write")
            assert lease is not None
            await asyncio.sleep(0)

    await asyncio.gather(*map(work, locks))
    assert acquired == ["fresh"] * 4
    assert held_lease("/write") is None


async def test_the_later_of_two_changes_has_the_higher_number_whatever_host_made_it():
    objects, numbers = Objects(), list[int]()
    here, there = HostChain(0), HostChain(7)
    for chain in (here, there, here, here, there):
        async with Lease(objects, "leases/write").held() as lease:
            own = [number for number in numbers if chain_of(number) == chain.index]
            for _ in range(3):
                own.append(chain.number_after(own[-1] if own else 0, lease))
                numbers.append(own[-1])
    assert numbers == sorted(set(numbers))
    assert {chain_of(number) for number in numbers} == {0, 7}
    # Remembering needs no lease: it only follows what the same host wrote.
    assert here.number_after(numbers[0], None) > numbers[0]
