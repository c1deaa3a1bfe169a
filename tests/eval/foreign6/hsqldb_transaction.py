# SPDX-License-Identifier: Apache-2.0
"""A client of HSQLDB keeps its transaction open while it does something else."""
from kit import foreign, host, servers

JAR = '/usr/share/java/hsqldb.jar'
CLIENT = '''
import java.io.*;
import java.sql.*;

public class Client {
	static Connection open(String url) throws Exception {
		Connection c = DriverManager.getConnection(url, "SA", "");
		c.setAutoCommit(false);
		return c;
	}

	static void update(Connection c) throws Exception {
		try (Statement s = c.createStatement()) {
			s.executeUpdate("update t set n = n + 1 where id = 1");
		}
	}

	static void ask(String url, PrintWriter log) throws Exception {
		Connection c = open(url);
		while (true) {
			long begun = System.nanoTime();
			update(c);
			c.commit();
			long end = System.nanoTime();
			log.printf("%d.%06d %d%n", end / 1000000000, end / 1000 % 1000000,
				   (end - begun) / 1000);
			log.flush();
			Thread.sleep(20);
		}
	}

	public static void main(String[] args) throws Exception {
		if (args[0].equals("make")) {
			try (Connection c = open(args[1]); Statement s = c.createStatement()) {
				s.execute("create table t (id int primary key, n int)");
				s.execute("insert into t values (1, 1)");
				c.commit();
			}
		} else if (args[0].equals("hold")) {
			Connection c = open(args[1]);
			while (true) {
				update(c);
				Thread.sleep(400);	// "and now the invoice"
				c.commit();
				Thread.sleep(100);
			}
		} else {
			PrintWriter log = new PrintWriter(new FileWriter(args[2]));
			for (int i = 0; i < 3; i++)
				new Thread(() -> {
					try {
						ask(args[1], log);
					} catch (Exception e) {
						e.printStackTrace();
					}
				}).start();
		}
	}
}
'''


class Asks(foreign.Talk):
    """Talk's log, written by a client of its own."""

    def __init__(self, lab, argv):
        self.log = argv[-1]
        self.proc = lab.spawn(argv, nice=-15)


class TheCase(foreign.Foreign):
    name = 'hsqldb-transaction'
    about = 'a client of HSQLDB keeps a row locked for 400 of 500 ms; three others update it'
    hurts = ('', 'p99 ms', 300)
    warm_s = 3

    def setup(self):
        lab, port = self.lab, host.free_port()
        self.server = servers.ready(lab, lab.spawn(
            ['java', '-cp', JAR, 'org.hsqldb.server.Server', '--address', '127.0.0.1', '--port',
             port, '--database.0', 'mem:shop;hsqldb.tx=locks', '--dbname.0', 'shop']), port)
        self.url = 'jdbc:hsqldb:hsql://127.0.0.1:%d/shop' % port
        lab.write('Client.java', CLIENT)
        lab.call(['javac', '-d', lab.dir, lab.path('Client.java')])
        lab.call([*self.client('make'), self.url])

    def client(self, what):
        return ['java', '-Xmx64m', '-cp', JAR + ':' + self.lab.dir, 'Client', what]

    def load(self):
        lab = self.lab
        holder = lab.spawn([*self.client('hold'), self.url])
        lab.write('asks.txt', '')
        self.loads[''] = Asks(lab, [*self.client('ask'), self.url, lab.path('asks.txt')])
        self.truth_of = foreign.Named(
            'lock-held', 'lock-convoy', what='HSQLDB, or the client that keeps its transaction open',
            party=foreign.process(holder) + '|' + foreign.process(self.server))
