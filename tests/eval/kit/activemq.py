# SPDX-License-Identifier: Apache-2.0
"""ActiveMQ with STOMP and a journal on disk; same contract as servers.py."""
from . import host
from .servers import ready

BROKER = '''
import org.apache.activemq.broker.BrokerService;

public class Broker {
    public static void main(String[] args) throws Exception {
        BrokerService broker = new BrokerService();
        broker.setDataDirectory(args[1]);
        broker.setUseJmx(false);
        broker.addConnector("stomp://127.0.0.1:" + args[0]);
        broker.start();
        broker.waitUntilStopped();
    }
}
'''
HELLO = (r'>CONNECT\naccept-version:1.1\nhost:x\n\n\x00', '<CONNECTED.*\\x00')
SEND = (r'>SEND\ndestination:/queue/%s\npersistent:true\nreceipt:1\n\nhello\x00',
        r'<RECEIPT.*\x00')


def send(queue):
    return SEND[0] % queue, SEND[1]


def server(lab, cgroup=None):
    port = host.free_port()
    jars = ':'.join(('/usr/share/activemq/lib/*', '/usr/share/java/slf4j-api.jar',
                     '/usr/share/java/slf4j-nop.jar'))
    return ready(lab, lab.spawn(['java', '-cp', jars, lab.write('Broker.java', BROKER), port,
                                 lab.path('data')], cgroup=cgroup), port)
