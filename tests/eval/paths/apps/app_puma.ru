# SPDX-License-Identifier: Apache-2.0
# GET /KIND/ID: a kept upstream connection for each thread.
require 'net/http'

run(lambda do |env|
  _, kind, id = env['PATH_INFO'].split('/')
  http = Thread.current[:upstream] ||= Net::HTTP.start('127.0.0.1', ENV['UPSTREAM'].to_i)
  (kind == 'two' ? 2 : 1).times { |n| http.get("/#{id}/#{n}") }
  [200, { 'Content-Length' => '3' }, ["ok\n"]]
end)
