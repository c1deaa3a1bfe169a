<?php // SPDX-License-Identifier: Apache-2.0
// Its calls for GET /KIND/ID: one, or two in a row.
[, $kind, $id] = explode('/', $_SERVER['REQUEST_URI']);
for ($n = 0; $n < ($kind == 'two' ? 2 : 1); $n++)
	file_get_contents('http://127.0.0.1:' . getenv('UPSTREAM') . "/$id/$n");
header('Content-Length: 3');
echo "ok\n";
