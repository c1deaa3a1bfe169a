# SPDX-License-Identifier: Apache-2.0
"""SWI-Prolog's web server with six threads, whose handler keeps a mutex."""
from kit import foreign, host, servers

SERVER = '''
:- use_module(library(http/thread_httpd)).
:- use_module(library(http/http_dispatch)).
:- http_handler(root(.), shop, []).

shop(_Request) :-
	with_mutex(stock, sleep(0.05)),
	format('Content-type: text/plain~n~nok~n').

:- initialization(main, main).
main :-
	current_prolog_flag(argv, [Text|_]), atom_number(Text, Port),
	http_server(http_dispatch, [port('127.0.0.1':Port), workers(6)]),
	thread_get_message(stop).
'''


class TheCase(foreign.Foreign):
    name = 'swipl-mutex'
    about = 'six threads of SWI-Prolog share a mutex that each keeps for 50 ms; six clients'
    hurts = ('', 'p50 ms', 200)

    def setup(self):
        lab, port = self.lab, host.free_port()
        self.server = servers.ready(lab, lab.spawn(
            ['swipl', lab.write('shop.pl', SERVER), port]), port)
        self.truth_of = foreign.Named('lock-held', 'lock-convoy', what='a thread of swipl',
                                      party=foreign.process(self.server))

    def load(self):
        self.talk('', 'tcp', self.server.port, r'>GET / HTTP/1.0\r\nHost: localhost\r\n\r\n',
                  r'<ok\n', conns=6, fresh=True)
