# SPDX-License-Identifier: Apache-2.0
"""A bus of D-Bus, and a service on it that takes its time for each call."""
import os

from kit import foreign, servers

SERVICE = '''
import time
import dbus, dbus.service
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib

class Shop(dbus.service.Object):
    @dbus.service.method('test.Shop', in_signature='', out_signature='i')
    def Stock(self):
        time.sleep(0.09)
        return 7

DBusGMainLoop(set_as_default=True)
bus = dbus.bus.BusConnection(__import__('os').environ['DBUS_SESSION_BUS_ADDRESS'])
name = dbus.service.BusName('test.Shop', bus)
shop = Shop(bus, '/')
GLib.MainLoop().run()
'''


class TheCase(foreign.Foreign):
    name = 'dbus-service'
    about = 'a service on the bus takes 90 ms for each call, one at a time; four clients'
    hurts = ('', 'p50 ms', 200)

    def setup(self):
        lab = self.lab
        address = 'unix:path=' + lab.path('bus')
        self.server = lab.spawn(['dbus-daemon', '--session', '--nofork', '--address=' + address])
        lab.wait_for(self.server, lambda: os.path.exists(lab.path('bus')), 'socket')
        shop = lab.spawn([servers.PYTHON, lab.write('shop.py', SERVICE)],
                         env={'DBUS_SESSION_BUS_ADDRESS': address})
        self.ask = foreign.shell(['dbus-send', '--bus=' + address, '--print-reply',
                                  '--dest=test.Shop', '/', 'test.Shop.Stock'])
        lab.wait_for(shop, self.answers, 'answer')
        self.truth_of = foreign.Named('peer', 'external', what='the service',
                                      party=foreign.process(shop))

    def answers(self):
        try:
            return 'int32 7' in self.lab.call(['sh', '-c', self.ask])
        except foreign.LabError:
            return False

    def load(self):
        self.talk('', 'run', self.ask, conns=4, pause=5)
