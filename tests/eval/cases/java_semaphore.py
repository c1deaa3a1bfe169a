# SPDX-License-Identifier: Apache-2.0
"""A Java server lets two requests at a time pass a semaphore; each sleeps inside."""
from kit import host, load, servers
from kit.case import CALM, CLOSED_LOOP, Case, Expect

SOURCE = '''
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.concurrent.*;

public class Server {
    static final Semaphore room = new Semaphore(2);

    static void work() throws InterruptedException {
        room.acquire();
        Thread.sleep(20);
        room.release();
    }

    public static void main(String[] args) throws Exception {
        var address = new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0]));
        var server = HttpServer.create(address, 256);

        server.setExecutor(Executors.newFixedThreadPool(16));
        server.createContext("/", ask -> {
            try {
                if (ask.getRequestURI().getPath().equals("/limited"))
                    work();
            } catch (InterruptedException e) {
            }
            ask.sendResponseHeaders(200, 3);
            ask.getResponseBody().write("ok\\n".getBytes());
            ask.close();
        });
        server.start();
    }
}
'''


class TheCase(Case):
    name = 'java-semaphore'
    about = 'Semaphore(2), 20 ms inside, 12 clients'
    labels = ('extra',)
    tools = ('java', 'javac')
    expect = {
        'degraded': Expect('conn-limit', culprit='pool'),
        'healthy': CLOSED_LOOP,
        'calm': CALM,
    }

    def setup(self):
        self.lab.call(['javac', '-d', self.lab.dir, self.lab.write('Server.java', SOURCE)])
        port = host.free_port()
        proc = self.lab.spawn(['java', '-Xmx256m', '-Dsun.net.httpserver.nodelay=true',
                               '-cp', self.lab.dir, 'Server', port])
        self.server = servers.ready(self.lab, proc, port)

    def load(self):
        path = '/limited' if self.degraded else '/'
        self.loads[''] = load.Client(self.lab, 'http', self.server.port, 12, path=path,
                                     rate=100 if self.calm else 0)

    def select(self):
        return ['-p', str(self.server.pid)]
