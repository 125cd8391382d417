"""Opens subscriptions from the beginning of the table, each 100 animals after the one before, and reads nothing:
unread-streams.py PORT KEY COUNT. Node cannot set SO_RCVBUF, without which the kernel takes megabytes. Ends with its input."""

import base64
import json
import socket
import sys

# The largest events: a response may repeat a name 30 times.
NAMES = " ".join("n%d: name" % n for n in range(30))

port, key, count = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
sockets = []
for n in range(count):
    after = base64.urlsafe_b64encode(b"all:%d" % (n * 100)).decode().rstrip("=")
    query = 'subscription { petCreated(after: "%s") { node { %s } } }' % (after, NAMES)
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
