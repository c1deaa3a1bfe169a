# SPDX-License-Identifier: Apache-2.0
"""How right the association of upstream calls with requests is, shape by shape of server."""
