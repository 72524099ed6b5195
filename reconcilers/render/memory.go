// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/render/template"
)

const (
	kibibyte = 1 << 10
	mebibyte = 1 << 20
)

// What memcached takes beside the cache. The figures were measured with 1.6.45 on amd64, where its source does not give
// them; test/memcached checks their sum with the kernel's limit.
const (
	// smallestItem is the size in bytes of the smallest slab chunk; smallestTable and largestTable are the number of
	// buckets of 8 bytes with which the hash table begins and ends.
	smallestItem  = 96
	smallestTable = 1 << 16
	largestTable  = 1 << 32
	// pagesBeside is what the slab classes take beyond the size of the cache: once it is full, each of the 39 classes
	// still gets its first page of 1 MiB.
	pagesBeside = 39 * mebibyte
	// leastInFile is the smallest cache in a memory file, in mebibytes: there, every slab class takes a page at the start, and 64Mi
	// hold a third of the items (measured).
	leastInFile = 256
	// bufferPerConnection is a read buffer of 16 KiB and half of one for responses: a connection holds them while its
	// requests are being answered. memcached keeps them, up to read_buf_mem_limit.
	bufferPerConnection = 24 * kibibyte
	// maxBuffers is the largest read_buf_mem_limit, in mebibytes: memcached counts its bytes in 32 bits.
	maxBuffers = 4095
	// perConnection is the rest of a connection, and tlsPerConnection the state that OpenSSL adds (22 KiB measured).
	perConnection    = 1 * kibibyte
	tlsPerConnection = 24 * kibibyte
	// perThread is the touched stack and the heap of a thread (70 KiB measured), program the rest of memcached (6.2 MB
	// measured, 11.3 with OpenSSL's) with room for the allocator's waste.
	perThread  = 128 * kibibyte
	program    = 8 * mebibyte
	tlsProgram = 6 * mebibyte
	// flashProgram is what extstore takes beside a tenth of the cache: write buffers of 4 MiB, and threads (1.2 times the cache and
	// 32 MiB measured, together with the rest).
	flashProgram = 32 * mebibyte
)

// capacity is what the memory of a memcached container depends on.
type capacity struct {
	// megabytes is the size of the cache, in mebibytes.
	megabytes            int64
	connections, threads int64
	// maxItemSize is in bytes. Its part of the memory is in the cache.
	maxItemSize int64
	tls, flash  bool
}

// shippedCapacity is that of the embedded templates.
var shippedCapacity = capacity{megabytes: 64, connections: 1024, threads: 4, maxItemSize: mebibyte}

// buffers returns the read_buf_mem_limit, in mebibytes.
func (c capacity) buffers() int64 {
	return min(ceil(c.connections*bufferPerConnection), maxBuffers)
}

// request returns what memcached takes with a full cache and all connections in use, in mebibytes.
func (c capacity) request() int64 {
	items := c.megabytes * mebibyte / smallestItem
	buckets := int64(smallestTable)
	for items > buckets*3/2 && buckets < largestTable { // it doubles the table, and holds both until all items have moved
		buckets *= 2
	}
	bytes := c.megabytes*mebibyte + 12*buckets + c.buffers()*mebibyte + c.connections*perConnection + c.threads*perThread + program
	if c.tls {
		bytes += c.connections*tlsPerConnection + tlsProgram
	}
	if c.flash {
		bytes += c.megabytes*mebibyte/10 + flashProgram
	}
	return ceil(bytes)
}

// limit returns the most that memcached takes, in mebibytes: items of every size may follow when the cache is full.
func (c capacity) limit() int64 { return c.request() + pagesBeside/mebibyte }

// ceil returns bytes in mebibytes, rounded up.
func ceil(bytes int64) int64 { return (bytes + mebibyte - 1) / mebibyte }

// of returns the capacity of a Memcached whose unset fields have the values of c.
func (c capacity) of(spec *cachev1alpha1.MemcachedSpec) capacity {
	if spec.Memory != nil {
		c.megabytes = spec.Memory.Value() / mebibyte
	}
	if spec.MaxConnections != nil {
		c.connections = int64(*spec.MaxConnections)
	}
	if spec.Threads != nil {
		c.threads = int64(*spec.Threads)
	}
	c.tls, c.flash = c.tls || spec.TLS != nil, c.flash || spec.Flash != nil
	return c
}

var deployment = appsv1.SchemeGroupVersion.WithKind("Deployment")

// memcachedPod returns the pods' spec of the Deployment of the Memcached called name, and its container memcached; nil if there
// are none.
func memcachedPod(objects []*unstructured.Unstructured, name string) (spec, container map[string]any) {
	for _, object := range objects {
		if object.GroupVersionKind() != deployment || object.GetName() != name {
			continue
		}
		pod, _, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "template", "spec")
		spec, _ = pod.(map[string]any)
		list, _ := spec["containers"].([]any)
		for _, item := range list {
			if container, ok := item.(map[string]any); ok && container["name"] == template.MainName {
				return spec, container
			}
		}
	}
	return nil, nil
}

// preStopOf returns the time of a rendered container's preStop, in seconds; 0 means none.
func preStopOf(container map[string]any) int64 {
	seconds, _, _ := unstructured.NestedInt64(container, "lifecycle", "preStop", "sleep", "seconds")
	return seconds
}

// capacityOf reads the capacity of a rendered container: templates and patches may set it. What it does not say is as in
// the embedded templates.
func capacityOf(container map[string]any) capacity {
	c := shippedCapacity
	env, _ := container["env"].([]any)
	for _, item := range env {
		variable, _ := item.(map[string]any)
		text, _ := variable["value"].(string)
		value, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			continue
		}
		switch variable["name"] {
		case "MEMCACHED_MEMORY_LIMIT":
			c.megabytes = value
		case "MEMCACHED_CONN_LIMIT":
			c.connections = value
		case "MEMCACHED_THREADS":
			c.threads = value
		case "MEMCACHED_MAX_ITEM_SIZE":
			c.maxItemSize = value
		}
	}
	args, _ := container["args"].([]any)
	c.tls, c.flash = slices.Contains(args, any("--enable-ssl")), strings.Contains(fmt.Sprint(args...), "ext_path=")
	return c
}

// memoryLimit returns the memory limit of a rendered container in bytes; 0 means none.
func memoryLimit(container map[string]any) int64 {
	text, _, _ := unstructured.NestedString(container, "resources", "limits", "memory")
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return 0
	}
	return quantity.Value()
}

// checkServes returns an error for rendered objects whose memcached would not start, would be killed once its cache is full, or
// would be killed in its preStop: the memory limit is less than 1.1 times the cache (and than memcached takes, if that is very
// large), an item may take more than half of the cache, the cache is too small for a memory file, the threads take all connections, or the preStop the grace period.
func checkServes(objects []*unstructured.Unstructured, name string) error {
	spec, container := memcachedPod(objects, name)
	limit := memoryLimit(container)
	c := capacityOf(container)
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%s %s: %s", deployment.Kind, name, fmt.Sprintf(format, args...))
	}
	if limit != 0 && limit*10 < c.megabytes*mebibyte*11 && limit < c.request()*mebibyte {
		return wrong("the memory limit of container memcached, %s, is less than 1.1 times its cache of %dMi: the kernel would kill memcached when the cache is full; remove resources.limits.memory or set it to %dMi, or set a smaller memory",
			resource.NewQuantity(limit, resource.BinarySI), c.megabytes, c.limit())
	}
	if c.maxItemSize*2 > c.megabytes*mebibyte {
		return wrong("items of %s are more than half of the cache of %dMi, with which memcached does not start; set a smaller maxItemSize or more memory",
			resource.NewQuantity(c.maxItemSize, resource.BinarySI), c.megabytes)
	}
	if c.megabytes < leastInFile && strings.Contains(fmt.Sprint(container["command"]), "--memory-file=") {
		return wrong("a cache of %dMi is too small for warmRestart, with which each size of items takes a page at once; set memory to %dMi or more", c.megabytes, leastInFile)
	}
	if needed := 10*c.threads + 10; c.connections < needed {
		return wrong("%d connections are too few for %d threads of memcached, which need some for themselves; set maxConnections to at least %d, or fewer threads",
			c.connections, c.threads, needed)
	}
	grace, isSet := spec["terminationGracePeriodSeconds"].(int64)
	if !isSet {
		grace = corev1.DefaultTerminationGracePeriodSeconds
	}
	if sleep := preStopOf(container); sleep > 0 && sleep >= grace {
		return wrong("the preStop of %d s leaves memcached no time of the grace period of %d s; set a shorter preStop.sleepSeconds or proxy.handoverSeconds, or a longer terminationGracePeriodSeconds", sleep, grace)
	}
	return nil
}

// MemoryWarning returns a warning if the memory limit of the Memcached called name, in its rendered objects, is less than
// memcached may take; it is empty otherwise.
func MemoryWarning(objects []*unstructured.Unstructured, name string) string {
	_, container := memcachedPod(objects, name)
	limit := memoryLimit(container)
	c := capacityOf(container)
	if limit == 0 || limit >= c.limit()*mebibyte {
		return ""
	}
	return fmt.Sprintf("memory limit %s: with a cache of %dMi, %d connections and %d threads memcached takes up to %dMi, and the kernel kills it beyond the limit",
		resource.NewQuantity(limit, resource.BinarySI), c.megabytes, c.connections, c.threads, c.limit())
}
