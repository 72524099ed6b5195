// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"strings"
)

// digest is one that no image has.
var digest = "@sha256:" + strings.Repeat("0123456789abcdef", 4)

// image returns a row that runs an image of the author's choice as memcached.
func image(name, reference string) row {
	return row{name: name, spec: "image: '" + reference + "'", field: "spec.image", rights: []string{createDeployments}}
}

// imageRows run programs of the author's choice, on nodes that may hold images of others.
var imageRows = []row{
	image("runs an image of its own", "registry.example.com/miner"),
	image("runs an image of its own, by tag", "registry.example.com/miner:1"),
	image("runs an image of its own, by digest", "registry.example.com/miner"+digest),
	image("runs an image of its own, by tag and digest", "registry.example.com/miner:1"+digest),
	image("runs another image of the default registry", "busybox"),
	image("runs an image whose name begins like the default", "memcached-evil"),
	image("runs an image whose name ends like the default", "evil-memcached"),
	image("runs an image of a user who is called like the default", "memcached/evil"),
	image("runs an image of a registry that is called like the default", "memcached:5000/evil/x"),
	image("runs the default's name in a registry that is called like it", "memcached:5000/memcached"),
	image("runs the default's name in another registry", "registry.example.com/memcached:1.6.45"),
	image("runs the default's name in a repository of the default registry", "evil/memcached:1.6.45"),
	image("runs the default's name as a tag", "evil:memcached"),
	image("runs the default's name in capitals as a host", "MEMCACHED/memcached"),
	image("runs an image of the node by its ID", "sha256:"+strings.Repeat("0123456789abcdef", 4)),
	image("runs an image of the node by the beginning of its ID", "0123456789ab"),
	image("runs an image of a registry on the node", "localhost:5000/memcached"),
	image("runs an image of a registry by its address", "[::1]:5000/memcached"),
	image("runs another image of the exporter's user", "prom/prometheus"),
	guardedRow("runs another tenant's private image that is on the node", "{image: registry.example.com/bank/ledger:7, imagePullPolicy: Never}", "spec.image", createDeployments),
	guardedRow("runs an exporter of its own", "metrics: {image: registry.example.com/miner}", "spec.metrics.image", createDeployments),
	guardedRow("runs an exporter of its own, by digest", "metrics: {image: 'prom/memcached-exporter-evil"+digest+"'}", "spec.metrics.image", createDeployments),
	guardedRow("runs an exporter from a registry that is called like the default's user", "metrics: {image: 'prom:80/memcached-exporter'}", "spec.metrics.image", createDeployments),
	guardedRow("runs two images of its own", "{image: registry.example.com/miner, metrics: {image: registry.example.com/miner}}", "spec.image", createDeployments),
	guardedRow("changes an administrator's image", "image: registry.example.com/miner", "spec.image", createDeployments).over("image: registry.example.com/memcached:1"),
	guardedRow("changes the tag of an administrator's image", "image: registry.example.com/memcached:0", "spec.image", createDeployments).over("image: registry.example.com/memcached:1"),
}
