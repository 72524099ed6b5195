// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/guarded"
)

const (
	kibibyte = 1 << 10
	mebibyte = 1 << 20

	// containerShare is the container's memory over the cache's, the figure of
	// Grafana's Loki chart: connections and threads need room beside the cache.
	containerShare = 1.2
	// containerExtra is what the container gets at least beside the cache: with a
	// cache of 8 MiB, memcached 1.6.45 was seen to hold 14 MB.
	containerExtra = 12.8 * mebibyte

	// maxChunk is memcached's own slab_chunk_max, in kibibytes.
	maxChunk = 512
)

// Values is what the templates need and YAML cannot compute. It stands beside the
// Memcached as a resource of kind Values, so that replacements can read it; a
// field that is empty is absent, and a component of the field's name is on when
// it is present. It is the only place in Go that knows values of the workload.
type Values struct {
	// Image is the memcached image: spec.image, else Defaults.Image. Empty leaves
	// the one in the template.
	Image string `json:"image,omitempty"`
	// ImagePullPolicy is spec.imagePullPolicy, else Always for an Image of the tag latest.
	// Empty leaves the one in the template.
	ImagePullPolicy string `json:"imagePullPolicy,omitempty"`
	// Memory is spec.memory in the units that memcached and the kubelet want.
	Memory *MemoryValues `json:"memory,omitempty"`
	// MaxItemSize is spec.maxItemSize in the units that memcached wants.
	MaxItemSize *ItemSizeValues `json:"maxItemSize,omitempty"`
	// Verbosity is present when spec.verbosity is more than 0.
	Verbosity *VerbosityValues `json:"verbosity,omitempty"`
	// ExtraArgs is the container's command with spec.extraArgs behind it: kustomize
	// cannot put one list behind another.
	ExtraArgs []string `json:"extraArgs,omitempty"`
	// TLS is present when clients are asked for certificates.
	TLS *TLSValues `json:"tls,omitempty"`
	// Reloader is present when there are files that memcached has to read anew when
	// they change, those of spec.tls and spec.auth.
	Reloader *ReloaderValues `json:"reloader,omitempty"`
	// Metrics is present with spec.metrics.
	Metrics *MetricsValues `json:"metrics,omitempty"`
	// OpenShift is true on OpenShift, which assigns users and groups to pods.
	OpenShift bool `json:"openShift,omitempty"`
}

// MemoryValues is spec.memory, converted.
type MemoryValues struct {
	// Megabytes is the size of the cache in mebibytes, rounded down.
	Megabytes string `json:"megabytes,omitempty"`
	// Container is the memory of the container: 1.2 times the cache, and at least
	// 12.8 MiB more, in whole mebibytes, rounded up.
	Container string `json:"container,omitempty"`
}

// ItemSizeValues is spec.maxItemSize, converted.
type ItemSizeValues struct {
	// Bytes is the size in bytes.
	Bytes string `json:"bytes,omitempty"`
	// ChunkKibibytes is the slab_chunk_max that the size needs, in kibibytes; empty
	// where memcached's own, 512, will do.
	ChunkKibibytes string `json:"chunkKibibytes,omitempty"`
}

// VerbosityValues is spec.verbosity as memcached wants it.
type VerbosityValues struct {
	// Flag is -v, -vv or -vvv.
	Flag string `json:"flag"`
}

// TLSValues is what spec.tls comes to.
type TLSValues struct {
	// VerifyMode is spec.tls.clientAuth as memcached's ssl_verify_mode: 1 for Request,
	// 2 for Require; empty for None.
	VerifyMode string `json:"verifyMode,omitempty"`
}

// ReloaderValues is what the sidecar that notices changed files needs.
type ReloaderValues struct {
	// Enabled is always true.
	Enabled bool `json:"enabled,omitempty"`
	// Image is the sidecar's image, Defaults.ReloaderImage. Empty stands for
	// memcached's own.
	Image string `json:"image,omitempty"`
	// ImagePullPolicy is Always for an image of the tag latest.
	ImagePullPolicy string `json:"imagePullPolicy,omitempty"`
}

// MetricsValues is what spec.metrics comes to.
type MetricsValues struct {
	// Image is the exporter's image: spec.metrics.image, else Defaults.ExporterImage.
	// Empty leaves the one in the template.
	Image string `json:"image,omitempty"`
	// ImagePullPolicy is Always for an Image of the tag latest.
	ImagePullPolicy string `json:"imagePullPolicy,omitempty"`
	// TLS is true when the exporter has to speak TLS with memcached.
	TLS bool `json:"tls,omitempty"`
}

// Defaults are what the operator's environment says where a Memcached says nothing,
// and what it allows. The zero value leaves everything to the templates, and allows
// no privileged field.
type Defaults struct {
	// Image is the memcached image, from RELATED_IMAGE_MEMCACHED.
	Image string
	// ExporterImage is the exporter's image, from RELATED_IMAGE_MEMCACHED_EXPORTER.
	ExporterImage string
	// ReloaderImage is the image of the sidecar that tells memcached of changed
	// files, from RELATED_IMAGE_MEMCACHED_RELOADER. It needs a shell.
	ReloaderImage string
	// AllowPrivilegedFields lets Memcacheds set guarded fields: guarded.Fields.
	AllowPrivilegedFields bool
	// Log takes what an operator of templates should know. The zero value discards it.
	Log logr.Logger
	// OperandImages are the images that Memcacheds may name without it. They default to
	// the repositories of the images above, else of those in the templates.
	OperandImages guarded.Images
}

// valuesFor computes the Values of mc.
func (d Defaults) valuesFor(mc *cachev1alpha1.Memcached, openShift bool) Values {
	spec := &mc.Spec
	v := Values{
		Image:     or(spec.Image, d.Image),
		OpenShift: openShift,
	}
	v.ImagePullPolicy = pullPolicy(v.Image)
	if spec.ImagePullPolicy != nil {
		v.ImagePullPolicy = string(*spec.ImagePullPolicy)
	}
	if spec.MaxItemSize != nil {
		v.MaxItemSize = itemSizeValues(*spec.MaxItemSize)
	}
	if spec.Memory != nil {
		v.Memory = memoryValues(*spec.Memory)
	}
	if spec.Verbosity != nil && *spec.Verbosity > 0 {
		v.Verbosity = &VerbosityValues{Flag: "-" + strings.Repeat("v", int(min(*spec.Verbosity, 3)))}
	}
	if len(spec.ExtraArgs) > 0 {
		v.ExtraArgs = []string{"memcached"}
		for _, arg := range spec.ExtraArgs {
			v.ExtraArgs = append(v.ExtraArgs, string(arg))
		}
	}
	if spec.TLS != nil && spec.TLS.ClientAuth != nil {
		v.TLS = &TLSValues{VerifyMode: map[cachev1alpha1.ClientAuth]string{
			cachev1alpha1.ClientAuthRequest: "1",
			cachev1alpha1.ClientAuthRequire: "2",
		}[*spec.TLS.ClientAuth]}
	}
	if spec.TLS != nil || spec.Auth != nil {
		v.Reloader = &ReloaderValues{
			Enabled:         true,
			Image:           d.ReloaderImage,
			ImagePullPolicy: pullPolicy(cmp.Or(d.ReloaderImage, v.Image)),
		}
	}
	if spec.Metrics != nil {
		image := or(spec.Metrics.Image, d.ExporterImage)
		v.Metrics = &MetricsValues{Image: image, ImagePullPolicy: pullPolicy(image), TLS: spec.TLS != nil}
	}
	return v
}

func memoryValues(memory resource.Quantity) *MemoryValues {
	bytes := memory.Value()
	container := int64(math.Ceil(max(float64(bytes)*containerShare, float64(bytes)+containerExtra) / mebibyte))
	return &MemoryValues{
		Megabytes: strconv.FormatInt(bytes/mebibyte, 10),
		Container: strconv.FormatInt(container, 10) + "Mi",
	}
}

// itemSizeValues converts size. An item that is larger than a chunk is stored in
// several: its size must be a multiple of the chunk's, a power of two of kibibytes,
// 512 unless said otherwise.
func itemSizeValues(size resource.Quantity) *ItemSizeValues {
	bytes := size.Value()
	v := &ItemSizeValues{Bytes: strconv.FormatInt(bytes, 10)}
	if chunk := (bytes & -bytes) / kibibyte; chunk < maxChunk {
		v.ChunkKibibytes = strconv.FormatInt(max(chunk, 1), 10)
	}
	return v
}

// pullPolicy returns Always for an image of the tag latest, which one without tag and digest has,
// as Kubernetes makes of it, and nothing for others. Kubernetes does so once, when an object is created;
// computed here, the policy does not depend on which image a Memcached had first.
func pullPolicy(image string) string {
	name, digest, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], "@")
	_, tag, _ := strings.Cut(name, ":")
	if tag == "latest" || image != "" && tag == "" && digest == "" {
		return string(corev1.PullAlways)
	}
	return ""
}

// or returns the image that the user set, or else the one that the operator was
// started with.
func or(set *cachev1alpha1.Image, otherwise string) string {
	if set != nil && *set != "" {
		return string(*set)
	}
	return otherwise
}
