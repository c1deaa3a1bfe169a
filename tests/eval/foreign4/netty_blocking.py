# SPDX-License-Identifier: Apache-2.0
"""A handler of netty asks a service and waits for it in the thread of the event loop."""
from kit import foreign, host, servers

SERVER = '''
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.*;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.*;

public class Shop extends SimpleChannelInboundHandler<FullHttpRequest> {
    protected void channelRead0(ChannelHandlerContext context, FullHttpRequest request)
            throws Exception {
        if (request.uri().equals("/stock"))
            try (java.io.InputStream in = new java.net.URL(System.getenv("STOCK")).openStream()) {
                in.readAllBytes();
            }
        FullHttpResponse answer = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1,
            HttpResponseStatus.OK, Unpooled.copiedBuffer("ok\\n".getBytes()));
        answer.headers().set("Content-Length", 3);
        context.writeAndFlush(answer);
    }

    public static void main(String[] args) throws Exception {
        new ServerBootstrap().group(new NioEventLoopGroup(1), new NioEventLoopGroup(1))
            .channel(NioServerSocketChannel.class)
            .childHandler(new ChannelInitializer<SocketChannel>() {
                protected void initChannel(SocketChannel channel) {
                    channel.pipeline().addLast(new HttpServerCodec(),
                        new HttpObjectAggregator(65536), new Shop());
                }
            }).bind("127.0.0.1", Integer.parseInt(args[0])).sync();
    }
}
'''


class TheCase(foreign.Foreign):
    name = 'netty-blocking'
    about = 'one request in some waits for a service of 100 ms in the only event loop thread'
    hurts = ('', 'p50 ms', 60)
    warm_s = 3

    def setup(self):
        lab, port = self.lab, host.free_port()
        behind = servers.upstream(lab, 100)
        jars = ':'.join('/usr/share/java/netty-%s.jar' % name for name in (
            'all', 'common', 'buffer', 'transport', 'codec', 'codec-http', 'handler', 'resolver',
            'transport-native-unix-common'))
        self.server = servers.ready(lab, lab.spawn(
            ['java', '-cp', jars, lab.write('Shop.java', SERVER), port],
            env={'STOCK': 'http://127.0.0.1:%d/' % behind.port}), port)
        self.truth_of = foreign.Named(
            'peer', 'external', 'loop-blocked', what='the service, or the loop that waits for it',
            party='|'.join((foreign.process(behind), foreign.address(behind.port),
                            foreign.process(self.server))))

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.GET, conns=4, pause=20)
        self.talk('stock', 'tcp', self.server.port, *foreign.get('/stock'), conns=2, pause=50)
