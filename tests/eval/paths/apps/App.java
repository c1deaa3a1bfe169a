// SPDX-License-Identifier: Apache-2.0
// App.java replies|futures|async PORT UPSTREAM_PORT: GET /KIND/ID.
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

public class App {
	static int upstream;
	static final ExecutorService pool = Executors.newFixedThreadPool(8);
	static final HttpClient client = HttpClient.newBuilder()
		.version(HttpClient.Version.HTTP_1_1).build();
	static final ThreadLocal<Socket> own = new ThreadLocal<>();

	static Void call(String id, int n) throws IOException {
		Socket s = own.get();
		if (s == null) {
			s = new Socket(InetAddress.getLoopbackAddress(), upstream);
			s.setTcpNoDelay(true);
			own.set(s);
		}
		s.getOutputStream().write(
			("GET /" + id + "/" + n + " HTTP/1.1\r\nHost: u\r\n\r\n").getBytes());
		InputStream in = s.getInputStream();
		byte[] data = new byte[4096];
		int len = 0;
		while (len < 3 || data[len - 1] != '\n' || data[len - 2] != 'k')
			len += in.read(data, len, data.length - len);
		return null;
	}

	static void reply(HttpExchange x) {
		try {
			x.sendResponseHeaders(200, 3);
			x.getResponseBody().write("ok\n".getBytes());
			x.close();
		} catch (IOException e) {
			x.close();
		}
	}

	static void replies(HttpExchange x, String kind, String id) {
		pool.submit(() -> {
			call(id, 0);
			reply(x);
			return null;
		});
	}

	static void futures(HttpExchange x, String kind, String id) throws Exception {
		Future<Void> first = pool.submit(() -> call(id, 0));
		Future<Void> second = kind.equals("par") ? pool.submit(() -> call(id, 1)) : null;
		first.get();
		if (kind.equals("two"))
			second = pool.submit(() -> call(id, 1));
		if (second != null)
			second.get();
		reply(x);
	}

	static void async(HttpExchange x, String id) {
		URI uri = URI.create("http://127.0.0.1:" + upstream + "/" + id + "/0");
		client.sendAsync(HttpRequest.newBuilder(uri).build(),
				HttpResponse.BodyHandlers.ofString())
			.thenAccept(answer -> reply(x));
	}

	static void handle(String mode, HttpExchange x) {
		String[] parts = x.getRequestURI().getPath().split("/");
		try {
			if (mode.equals("replies"))
				replies(x, parts[1], parts[2]);
			else if (mode.equals("futures"))
				futures(x, parts[1], parts[2]);
			else
				async(x, parts[2]);
		} catch (Exception e) {
			x.close();
		}
	}

	public static void main(String[] args) throws IOException {
		upstream = Integer.parseInt(args[2]);
		HttpServer server = HttpServer.create(
			new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(args[1])), 512);
		server.createContext("/", x -> handle(args[0], x));
		server.setExecutor(Executors.newFixedThreadPool(8));
		server.start();
	}
}
