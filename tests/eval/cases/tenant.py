# SPDX-License-Identifier: Apache-2.0
"""nginx, two node services, PostgreSQL and redis; one tenant's prices are quadratic."""
from kit import load, servers
from kit.case import Case, Expect
from kit.truth import Truth

FRONT = '''
const http = require('http');
const agent = new http.Agent({ keepAlive: true, maxSockets: 32 });
http.createServer((req, res) => {
  http.get({ port: +process.env.BACK, host: '127.0.0.1', path: req.url, agent }, (up) => {
    res.writeHead(up.statusCode, { 'content-type': 'application/json' });
    up.pipe(res);
  }).on('error', () => { res.statusCode = 502; res.end(); });
}).listen(+process.env.PORT, '127.0.0.1');
'''

BACK = '''
const http = require('http'), { Pool } = require('pg'), redis = require('redis');
const pool = new Pool({ host: '127.0.0.1', port: +process.env.PG, user: 'postgres', max: 8 });
const cache = redis.createClient({ url: 'redis://127.0.0.1:' + process.env.REDIS });

function applyRule(items, i) {
  let best = items[i].price;
  for (const other of items)
    if (other.group === items[i].group && other.price < best) best = other.price;
  return best;
}
function priceCart(items, tenant) {
  let sum = 0;
  const rules = tenant === 't42' ? items.length : Math.min(items.length, 5);
  for (let i = 0; i < rules; i++) sum += applyRule(items, i);
  return sum;
}
function itemsOf(rows, cart) {
  const cnt = Math.max(rows.length, +process.env.ITEMS);
  const items = [];
  for (let i = 0; i < cnt; i++) items.push({ price: i * 7919 % 1000, group: i % 97 });
  return items.concat(Object.keys(cart).slice(0, 10).map((k) => ({ price: +cart[k], group: 1 })));
}
function renderCart(sum) { return JSON.stringify({ sum }); }
async function loadTenant(name) {
  return (await pool.query('select * from prices where tenant = $1 limit 20', [name])).rows;
}
async function loadCart(user) { return cache.hGetAll('cart:' + user); }
async function handle(req, res) {
  const url = new URL(req.url, 'http://x');
  const tenant = url.searchParams.get('t'), user = url.searchParams.get('u');
  const [rows, cart] = await Promise.all([loadTenant(tenant), loadCart(user)]);
  res.end(renderCart(priceCart(itemsOf(rows, cart), tenant)));
}
cache.connect().then(() => http.createServer((req, res) => {
  handle(req, res).catch((e) => { console.log(e); res.statusCode = 500; res.end(); });
}).listen(+process.env.PORT, '127.0.0.1'));
'''
TABLE = '''create table prices (tenant text, item int, price int);
insert into prices select 't' || (i % 100), i, i % 1000 from generate_series(1, 20000) i;
create index on prices (tenant); vacuum analyze prices;'''
CART = "for i=1,tonumber(ARGV[1]) do redis.call('hset', KEYS[1], 'f' .. i, i) end"


class TheCase(Case):
    name = 'tenant'
    about = 'one tenant in twenty requests runs a quadratic pricing function'
    labels = ('functions',)
    tools = ('node', 'npm', 'nginx', 'redis-server', 'pgbench')
    variants = ('degraded',)
    expect = {'degraded': Expect('cpu-own', 'loop-blocked', culprit='node')}
    truth = Truth('priceCart|applyRule')

    def setup(self):
        lab = self.lab
        servers.npm(lab, 'pg@8', 'redis@4')
        base, cache = servers.postgres(lab), servers.redis(lab)
        servers.psql(lab, base.port, TABLE)
        for key, cnt in (('cart:u77', 20000 if self.degraded else 10), ('cart:u1', 10)):
            lab.call(['redis-cli', '-p', cache.port, 'EVAL', CART, 1, key, cnt])
        self.server = servers.node(lab, BACK, names=True, env={
            'PG': base.port, 'REDIS': cache.port, 'ITEMS': 2000 if self.degraded else 20})
        front = servers.node(lab, FRONT, name='front.js', env={'BACK': self.server.port})
        self.nginx = servers.nginx(lab, 'proxy_pass http://back; proxy_http_version 1.1; '
                                   'proxy_set_header Connection "";',
                                   'upstream back { server 127.0.0.1:%d; keepalive 32; }'
                                   % front.port)

    def requests(self, rates):
        for path, rate in rates:
            self.loads[path] = load.Client(self.lab, 'http', self.nginx.port, 4, rate=rate,
                                           path=path)

    def load(self):
        self.requests((('/cart?t=t7&u=u1', 190), ('/cart?t=t42&u=u1', 10),
                       ('/cart?t=t9&u=u77', 2)))

    def learn_load(self):
        self.requests((('/cart?t=t8&u=u1', 60), ('/cart?t=t42&u=u2', 20)))

    def select(self):
        return ['-p', str(self.server.pid)]
