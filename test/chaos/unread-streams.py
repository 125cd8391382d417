"""Opens subscriptions from the beginning of the table, each 100 animals after the one before, and reads nothing:
unread-streams.py PORT KEY COUNT. Node cannot set SO_RCVBUF, without which the kernel takes megabytes. Ends with its input."""

import base64
import json
import socket
import sys

# How often an event repeats a name of a kilobyte: as one part of a response has it, and as often as a document may have aliases.
REPEATS = [15, 100]

port, key, count = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
sockets = []
for n in range(count):
    after = base64.urlsafe_b64encode(b"all:%d" % (n * 100)).decode().rstrip("=")
    names = " ".join("n%d: name" % i for i in range(REPEATS[n % 2]))
    query = 'subscription { petCreated(after: "%s") { node { %s } } }' % (after, names)
    body = json.dumps({"query": query})
    head = [
        "POST /graphql HTTP/1.1",
        "Host: pets",
        "Authorization: Bearer " + key,
        "Content-Type: application/json",
        "Accept: text/event-stream",
        "Content-Length: %d" % len(body),
    ]
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    one.connect(("127.0.0.1", port))
    one.sendall("\r\n".join([*head, "", body]).encode())
    sockets.append(one)
print("opened", flush=True)
sys.stdin.read()
