# SPDX-License-Identifier: Apache-2.0
"""Pages of yaws ask one Erlang process, which takes 60 ms for each answer."""
import os

from kit import foreign, host

PAGE = '''<erl>
serve() ->
    receive {Who, please} -> timer:sleep(60), Who ! done end,
    serve().

out(_Arg) ->
    case whereis(the_one) of
        undefined -> catch register(the_one, spawn(fun serve/0));
        _ -> ok
    end,
    the_one ! {self(), please},
    receive done -> ok end,
    {content, "text/plain", "ok\\n"}.
</erl>
'''
CONF = '''
logdir = %(dir)s
ebin_dir = %(dir)s
auth_log = false
copy_error_log = false
trace = false
fail_on_bind_err = true
<server localhost>
    port = %(port)d
    listen = 127.0.0.1
    docroot = %(dir)s/www
    access_log = false
</server>
'''


def yaws(lab):
    port = host.free_port()
    os.mkdir(lab.path('www'))
    lab.write('www/slow.yaws', PAGE)
    lab.write('www/quick.txt', 'ok\n')
    conf = lab.write('yaws.conf', CONF % {'dir': lab.dir, 'port': port})
    proc = lab.spawn(['yaws', '-i', '--conf', conf, '--id', 'eval%d' % port],
                     stdin=os.pipe()[0])	# it ends with its input
    lab.wait_port(proc, port)
    beam = [p for p in (proc.pid, *host.descendants(proc.pid)) if 'beam' in host.comm(p)]
    proc.pid, proc.port = beam[0], port
    return proc


class TheCase(foreign.Foreign):
    name = 'yaws-process'
    about = 'all requests ask one Erlang process, which takes 60 ms; eight clients'
    hurts = ('', 'p50 ms', 300)

    def setup(self):
        self.server = yaws(self.lab)
        # all is inside of the Erlang VM, whose threads idle: a pause is what can be seen
        self.truth_of = foreign.Named('timer', 'lock-held', 'lock-convoy', 'workers',
                                      what='the Erlang VM', party=foreign.process(self.server))

    def load(self):
        self.talk('', 'tcp', self.server.port, *foreign.get('/slow.yaws'), conns=8)
