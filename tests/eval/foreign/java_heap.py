# SPDX-License-Identifier: Apache-2.0
"""A Java server whose live data nearly fills its heap: it collects garbage all the time."""
from kit import foreign, host, servers

SERVER = '''
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;

public class Heap {
    static Object[] kept;

    public static void main(String[] args) throws Exception {
        kept = new Object[Integer.parseInt(args[1])];
        for (int i = 0; i < kept.length; i++) kept[i] = new Object[] {new byte[40], null};
        HttpServer server = HttpServer.create(
            new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0])), 64);
        server.setExecutor(Executors.newFixedThreadPool(4));
        server.createContext("/", exchange -> {
            Object[] part = new Object[20000];
            for (int i = 0; i < part.length; i++) part[i] = new byte[40];
            byte[] text = "ok\\n".getBytes();
            exchange.sendResponseHeaders(200, text.length);
            exchange.getResponseBody().write(text);
            exchange.close();
        });
        server.start();
    }
}
'''


class TheCase(foreign.Foreign):
    name = 'java-heap'
    about = 'Java with a heap of 96 MB of which 85 are in use, serial collector'
    hurts = ('', 'p99 ms', 40)
    truth_of = foreign.Named('cpu-own', 'lock-held', 'memory', what="the VM's collector",
                             party='VM Thread|GC', function='GC|Mark|Generation|Collect')

    def setup(self):
        port = host.free_port()
        source = self.lab.write('Heap.java', SERVER)
        self.lab.call(['javac', '-d', self.lab.dir, source])
        self.server = servers.ready(self.lab, self.lab.spawn(
            ['java', '-Xms96m', '-Xmx96m', '-XX:+UseSerialGC', '-Dsun.net.httpserver.nodelay=true',
             '-cp', self.lab.dir, 'Heap', port, 900000]), port)

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.GET, conns=4, pause=5)
