# SPDX-License-Identifier: Apache-2.0
"""Once in 3 s a thread of a Java server stays in a monitor that every request needs."""
from kit import host, load, servers
from kit.rare import Rare, RareCase

SOURCE = '''
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.concurrent.*;

public class Server {
    static final Object stock = new Object();
    static long sold;

    static void sell() {
        synchronized (stock) {
            sold++;
        }
    }

    static void takeStock(long ms) {
        try {
            while (true) {
                Thread.sleep(3000 - ms);
                synchronized (stock) {
                    Thread.sleep(ms);
                }
            }
        } catch (InterruptedException e) {
        }
    }

    public static void main(String[] args) throws Exception {
        var address = new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0]));
        var server = HttpServer.create(address, 256);
        long ms = Long.parseLong(args[1]);

        server.setExecutor(Executors.newFixedThreadPool(16));
        server.createContext("/", ask -> {
            sell();
            ask.sendResponseHeaders(200, 3);
            ask.getResponseBody().write("ok\\n".getBytes());
            ask.close();
        });
        server.start();
        if (ms > 0)
            new Thread(() -> takeStock(ms), "stocktaker").start();
    }
}
'''


class TheCase(RareCase):
    name = 'rare-java-monitor'
    about = 'synchronized for 200 ms every 3 s, wrk with 16 connections'
    tools = ('java', 'javac', 'wrk')
    rare = Rare('lock-held', stall_ms=200, every_s=3, culprit='^stocktaker',
                function='takeStock')
    warm_s = 10.0	# until the compiler is through

    def setup(self):
        self.lab.call(['javac', '-d', self.lab.dir, self.lab.write('Server.java', SOURCE)])
        port = host.free_port()
        proc = self.lab.spawn(['java', '-Xmx256m', '-Dsun.net.httpserver.nodelay=true',
                               '-cp', self.lab.dir, 'Server', port, 200 * self.degraded])
        self.server = servers.ready(self.lab, proc, port)

    def load(self):
        self.loads[''] = load.Wrk(self.lab, self.server.port, '/', 16)
        self.probe('http', self.server.port)

    def select(self):
        return ['-p', str(self.server.pid)]
