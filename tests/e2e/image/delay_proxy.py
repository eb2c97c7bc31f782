#!/usr/bin/env python3
"""Forwards TCP connections, each byte DELAY seconds later, both ways: a network with latency.

    delay_proxy.py LISTEN_ADDRESS:PORT TARGET_ADDRESS:PORT DELAY
"""

import asyncio
import contextlib
import sys

CHUNK = 1 << 18
ON_THE_WAY = 64  # chunks of one direction; then its sender waits


async def take(reader, way, delay):
    clock = asyncio.get_running_loop()
    with contextlib.suppress(ConnectionError):
        while chunk := await reader.read(CHUNK):
            await way.put((clock.time() + delay, chunk))
    await way.put((clock.time() + delay, b""))


async def give(way, writer):
    clock = asyncio.get_running_loop()
    with contextlib.suppress(ConnectionError):
        while True:
            due, chunk = await way.get()
            await asyncio.sleep(due - clock.time())
            if not chunk:
                break
            writer.write(chunk)
            await writer.drain()
        writer.write_eof()


async def one_way(reader, writer, delay):
    way = asyncio.Queue(ON_THE_WAY)
    taking = asyncio.ensure_future(take(reader, way, delay))
    await give(way, writer)
    taking.cancel()


async def serve(listen, target, delay):
    async def connect(reader, writer):
        with contextlib.suppress(OSError):
            there, back = await asyncio.open_connection(*target)
            await asyncio.gather(one_way(reader, back, delay), one_way(there, writer, delay))
            back.close()
        writer.close()

    server = await asyncio.start_server(connect, *listen, limit=CHUNK)
    await server.serve_forever()


def endpoint(text):
    address, _, port = text.rpartition(":")
    return address, int(port)


if __name__ == "__main__":
    asyncio.run(serve(endpoint(sys.argv[1]), endpoint(sys.argv[2]), float(sys.argv[3])))
