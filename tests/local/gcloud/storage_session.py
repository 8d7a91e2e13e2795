"""Files up and down with the real gcloud: small ones, one that is uploaded resumably, a server that is killed in
the middle of it, folders, and all of it removed again. Argument: folder of the programs.
"""
import hashlib
import os
import re
import subprocess
import sys
import time

from gcloud_target import Target

BUCKET = "gs://session-bucket"
BIG = 24 << 20  # bytes; gcloud uploads resumably from 8 MiB on
SLOW = {"CLOUDSDK_STORAGE_PROCESS_COUNT": "1", "CLOUDSDK_STORAGE_THREAD_COUNT": "1"}


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


class Session:
    def __init__(self, target):
        self.target = target
        self.failed = 0
        self.work = os.path.join(target.home, "work")

    def path(self, name):
        return os.path.join(self.work, name)

    def expect(self, holds, what, detail=""):
        print("%s %s" % ("ok" if holds else "not ok", what))
        if not holds:
            print("    " + detail.replace("\n", "\n    "))
            self.failed += 1
        sys.stdout.flush()

    def storage(self, *words, code=0, out=None):
        got, stdout, stderr = self.target.run(["gcloud", "storage"] + list(words), SLOW)
        fits = got == code and (out is None or re.search(out, stdout, re.MULTILINE))
        self.expect(fits, "storage " + " ".join(w.replace(self.work, "WORK") for w in words),
                    "exit %d\nstdout: %s\nstderr: %s" % (got, stdout, stderr))
        return stdout

    def object(self, name):
        return self.target.ask("GET", "/storage/storage/v1/b/session-bucket/o/" + name)

    def upload_in_two_lives(self):
        """The server is killed while the big file is under way; the same command goes on behind what came."""
        argv = ["gcloud", "storage", "cp", self.path("big.bin"), BUCKET + "/big2.bin"]
        blobs = os.path.join(self.target.home, "buckets", "objects")
        before = set(os.listdir(blobs))
        client = subprocess.Popen(argv, env=self.target.environment(SLOW), stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        arrived = 0
        while client.poll() is None and arrived < 1 << 20:
            arrived = sum(os.path.getsize(os.path.join(blobs, name)) for name in set(os.listdir(blobs)) - before)
            time.sleep(0.001)
        self.target.kill()
        client.kill()
        client.wait()
        kept = sum(os.path.getsize(os.path.join(blobs, name)) for name in set(os.listdir(blobs)) - before)
        self.target.start(same_port=True)
        print("    %d of %d bytes had come when the server was killed" % (kept, BIG))
        status, _ = self.object("big2.bin")
        self.expect(status == 404 or kept >= BIG, "an upload that was cut is no object", "status %d" % status)
        self.storage("cp", self.path("big.bin"), BUCKET + "/big2.bin")
        status, resource = self.object("big2.bin")
        self.expect(status == 200 and resource["size"] == str(BIG), "and is one when it has been taken up again",
                    str(resource))

    def run(self):
        write(self.path("up/small.txt"), b"a small file\n")
        write(self.path("up/deep/er/more.txt"), b"below\n")
        write(self.path("up/empty"), b"")
        write(self.path("big.bin"), os.urandom(BIG))
        self.storage("buckets", "create", BUCKET, "--location=us-central1")
        self.storage("cp", "--recursive", self.path("up"), BUCKET)
        self.storage("cat", BUCKET + "/up/small.txt", out="^a small file$")
        self.storage("cp", self.path("big.bin"), BUCKET + "/big.bin")
        self.storage("ls", BUCKET, out=r"^gs://session-bucket/big\.bin$(.|\n)*^gs://session-bucket/up/$")
        self.storage("ls", "--recursive", BUCKET, out=r"^gs://session-bucket/up/deep/er/more\.txt$")
        self.storage("ls", "--long", BUCKET + "/big.bin", out=r"^ *%d +20\S+Z +gs://session-bucket/big\.bin$" % BIG)
        self.storage("cp", BUCKET + "/big.bin", self.path("down/big.bin"))
        same = os.path.exists(self.path("down/big.bin")) and digest(self.path("down/big.bin")) == digest(
            self.path("big.bin"))
        self.expect(same, "what came down is what went up")
        self.storage("cp", "--recursive", BUCKET + "/up", self.path("down"))
        with open(self.path("down/up/deep/er/more.txt"), "rb") as file:
            self.expect(file.read() == b"below\n", "folders come down as they went up")
        self.storage("cp", BUCKET + "/big.bin", BUCKET + "/copies/big.bin")
        self.storage("cp", "--no-clobber", self.path("up/empty"), BUCKET + "/big.bin")
        self.expect(self.object("big.bin")[1].get("size") == str(BIG), "--no-clobber leaves what is there")
        self.upload_in_two_lives()
        self.storage("rm", BUCKET + "/copies/big.bin")
        self.storage("ls", BUCKET + "/nothing", code=1)
        self.storage("rm", "--recursive", BUCKET)
        self.storage("ls", BUCKET, code=1)
        left = os.listdir(os.path.join(self.target.home, "buckets", "objects"))
        self.expect(not left, "no bytes are left behind", str(left))


def main():
    with Target(sys.argv[1]) as target:
        os.makedirs(os.path.join(target.home, "work"))
        session = Session(target)
        session.run()
    return 1 if session.failed else 0


if __name__ == "__main__":
    sys.exit(main())
