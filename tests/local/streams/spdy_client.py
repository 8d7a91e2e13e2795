"""A SPDY/3.1 client as Kubernetes' own: opens streams, sends and reads data. Written from the protocol's description for
these tests; shares nothing with the server."""
import struct
import threading
import zlib

WORDS = ("options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow "
         "authorization cache-control connection content-base content-encoding content-language content-length "
         "content-location content-md5 content-range content-type date etag expect expires from host if-match "
         "if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma "
         "proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade "
         "user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url public set-cookie "
         "keep-alive origin").replace("_", "\0").split(" ")
TAIL = ("100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-Authoritative "
        "Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not Found500 Internal "
        "Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 "
        "Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,"
        "application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8"
        "charset=iso-8859-1,utf-,*,enq=0.")
DICTIONARY = b"".join(struct.pack(">I", len(w)) + w.replace("\0", " ").encode() for w in WORDS) + TAIL.encode()
assert zlib.adler32(DICTIONARY) == 0xE3C6A7C2


class Stream:
    def __init__(self, session, number):
        self.session, self.number = session, number
        self.received = bytearray()
        self.accepted = self.ended = self.was_reset = False

    def send(self, data, last=False):
        for at in range(0, len(data), 32768):
            self.session.data(self.number, data[at:at + 32768], False)
        if last:
            self.session.data(self.number, b"", True)

    def end(self):
        self.session.data(self.number, b"", True)

    def reset(self):
        self.session.control(3, 0, struct.pack(">II", self.number, 5))

    def wait(self, condition, timeout=60):
        with self.session.changed:
            if not self.session.changed.wait_for(lambda: condition(self) or self.session.broken, timeout):
                raise TimeoutError(f"stream {self.number}: {self.received[-200:]!r}")
        return self.received

    def read_all(self, timeout=60):
        return self.wait(lambda s: s.ended or s.was_reset, timeout)


class Session:
    """`sock` has left HTTP. `rest` is what was read of it too much."""

    def __init__(self, sock, rest=b""):
        self.sock, self.buffer = sock, rest
        self.streams, self.next = {}, 1
        self.lock, self.changed = threading.Lock(), threading.Condition()
        self.broken = self.going = False
        self.pongs = 0
        self.packer = zlib.compressobj(9, zlib.DEFLATED, 15, 8, 0, DICTIONARY)
        self.unpacker = zlib.decompressobj(zdict=DICTIONARY)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def write(self, frame):
        with self.lock:
            self.sock.sendall(frame)

    def control(self, kind, flags, payload):
        self.write(struct.pack(">HHI", 0x8003, kind, flags << 24 | len(payload)) + payload)

    def data(self, number, payload, last):
        self.write(struct.pack(">II", number, (1 if last else 0) << 24 | len(payload)) + payload)

    def ping(self, number):
        self.control(6, 0, struct.pack(">I", number))

    def open(self, headers):
        block = struct.pack(">I", len(headers))
        for name, value in headers.items():
            for part in (name.encode(), value.encode()):
                block += struct.pack(">I", len(part)) + part
        with self.lock:
            number, self.next = self.next, self.next + 2
            stream = self.streams[number] = Stream(self, number)
            packed = self.packer.compress(block) + self.packer.flush(zlib.Z_SYNC_FLUSH)
            payload = struct.pack(">IIBB", number, 0, 0, 0) + packed
            self.sock.sendall(struct.pack(">HHI", 0x8003, 1, len(payload)) + payload)
        return stream

    def read(self):
        try:
            while True:
                while len(self.buffer) >= 8:
                    first, second = struct.unpack(">II", self.buffer[:8])
                    size = second & 0xFFFFFF
                    if len(self.buffer) < 8 + size:
                        break
                    payload, self.buffer = self.buffer[8:8 + size], self.buffer[8 + size:]
                    with self.changed:
                        self.frame(first, second >> 24, payload)
                        self.changed.notify_all()
                more = self.sock.recv(1 << 18)
                if not more:
                    break
                self.buffer += more
        except OSError:
            pass
        with self.changed:
            self.broken = True
            self.changed.notify_all()

    def frame(self, first, flags, payload):
        if not first & 0x80000000:
            stream = self.streams[first]
            stream.received += payload
            stream.ended = stream.ended or bool(flags & 1)
            return
        kind = first & 0xFFFF
        if kind == 2:
            number, = struct.unpack(">I", payload[:4])
            self.unpacker.decompress(payload[4:])
            self.streams[number].accepted = True
        elif kind == 3:
            number, _ = struct.unpack(">II", payload)
            self.streams[number].was_reset = True
        elif kind == 6:
            self.pongs += 1
        elif kind == 7:
            self.going = True

    def close(self):
        try:
            self.sock.close()
        except OSError:
            pass
