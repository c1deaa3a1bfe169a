#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A service of names on UDP that is silent about old ones: names.py PORT"""
import socket
import sys

service = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
service.bind(('127.0.0.1', int(sys.argv[1])))
while True:
    name, client = service.recvfrom(512)
    if b'old' not in name:
        service.sendto(b'10.0.0.1', client)
