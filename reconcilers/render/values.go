// SPDX-License-Identifier: Apache-2.0

package render

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"
	"github.com/example/memcached-operator/reconcilers/guarded"
)

// maxChunk is memcached's own slab_chunk_max, in kibibytes.
const maxChunk = 512

// Values holds the values that the templates need and kustomize cannot compute. It is a
// resource of kind Values in the build, which replacements read beside the Memcached. An
// empty field is absent; a field that is present enables the component of its name. No
// other Go code computes values of the workload.
type Values struct {
	// Image is the memcached image: spec.image, otherwise Defaults.Image. If it is empty,
	// the template's image is used.
	Image string `json:"image,omitempty"`
	// ImagePullPolicy is spec.imagePullPolicy, otherwise Always for an Image with the tag
	// latest. If it is empty, the template's policy is used.
	ImagePullPolicy string `json:"imagePullPolicy,omitempty"`
	// Memory is spec.memory in the unit of memcached.
	Memory *MemoryValues `json:"memory,omitempty"`
	// ContainerMemory is present when a field is set on which it depends: spec.memory, maxConnections, threads, tls or flash.
	ContainerMemory *ContainerMemoryValues `json:"containerMemory,omitempty"`
	// MaxItemSize is spec.maxItemSize in the units of memcached.
	MaxItemSize *ItemSizeValues `json:"maxItemSize,omitempty"`
	// Flash is present with spec.flash.
	Flash *FlashValues `json:"flash,omitempty"`
	// Verbosity is present when spec.verbosity is more than 0.
	Verbosity *VerbosityValues `json:"verbosity,omitempty"`
	// ExtraArgs is the container's command followed by spec.extraArgs: kustomize cannot
	// append one list to another. It is empty with spec.warmRestart, which has another command.
	ExtraArgs []string `json:"extraArgs,omitempty"`
	// CacheFile is present with spec.warmRestart. Its component comes before extraArgs, which sets the command too.
	CacheFile *CacheFileValues `json:"cacheFile,omitempty"`
	// TLS is present with spec.tls.
	TLS *TLSValues `json:"tls,omitempty"`
	// Reloader is present when memcached has to reload files on change, those of spec.tls
	// and spec.auth.
	Reloader *ReloaderValues `json:"reloader,omitempty"`
	// Metrics is present with spec.metrics.
	Metrics *MetricsValues `json:"metrics,omitempty"`
	// OmitPreStop is true when a pod has no time for the preStop of the templates: spec.terminationGracePeriodSeconds is
	// not longer, and spec.preStop is not set.
	OmitPreStop bool `json:"omitPreStop,omitempty"`
	// Service and PodDisruptionBudget have what the spec sets by an empty object, which is not in the build.
	Service             ServiceValues             `json:"service"`
	PodDisruptionBudget PodDisruptionBudgetValues `json:"podDisruptionBudget"`
	// OpenShift is true on OpenShift, which assigns users and groups to pods.
	OpenShift bool `json:"openShift,omitempty"`
	// Nodes is present with spec.stableNames and with spec.proxy.
	Nodes *NodesValues `json:"nodes,omitempty"`
	// Proxy is present with spec.proxy.
	Proxy *ProxyValues `json:"proxy,omitempty"`
}

// MemoryValues is spec.memory, converted.
type MemoryValues struct {
	// Megabytes is the size of the cache in mebibytes, rounded down.
	Megabytes string `json:"megabytes,omitempty"`
}

// ContainerMemoryValues is what memcached takes with the cache, the connections and the threads of a Memcached, or of the
// templates where it does not set them. docs/user/placement.md has the formula.
type ContainerMemoryValues struct {
	// Request is the container's memory with a full cache and all connections in use.
	Request string `json:"request,omitempty"`
	// Limit is the most that memcached takes: Request, and a page for each size of items.
	Limit string `json:"limit,omitempty"`
	// BufferMegabytes is the most that the buffers of connections take, in mebibytes: 24 KiB for each one of them.
	BufferMegabytes string `json:"bufferMegabytes,omitempty"`
}

// ItemSizeValues is spec.maxItemSize, converted.
type ItemSizeValues struct {
	// Bytes is the size in bytes.
	Bytes string `json:"bytes,omitempty"`
	// ChunkKibibytes is the slab_chunk_max that the size requires, in kibibytes; empty for
	// memcached's default, 512.
	ChunkKibibytes string `json:"chunkKibibytes,omitempty"`
}

// FlashValues is spec.flash in the unit of memcached.
type FlashValues struct {
	// NodeDisk is set unless the spec names a StorageClass.
	NodeDisk bool `json:"nodeDisk,omitempty"`
	// Megabytes is nine tenths of the size in whole pages of PageMegabytes, both in mebibytes.
	Megabytes     string `json:"megabytes,omitempty"`
	PageMegabytes string `json:"pageMegabytes,omitempty"`
}

// VerbosityValues is spec.verbosity as an argument of memcached.
type VerbosityValues struct {
	// Flag is -v, -vv or -vvv.
	Flag string `json:"flag"`
}

// CacheFileValues holds the values computed for spec.warmRestart.
type CacheFileValues struct {
	// SizeLimit is that of the volume with the cache: spec.memory and 16Mi.
	SizeLimit string `json:"sizeLimit,omitempty"`
	// GraceSeconds is the time in seconds that a pod has to stop; empty where spec.terminationGracePeriodSeconds or the
	// template's is enough.
	GraceSeconds string `json:"graceSeconds,omitempty"`
	// ExtraArgs is spec.extraArgs, separated by spaces.
	ExtraArgs string `json:"extraArgs,omitempty"`
}

// TLSValues holds the values computed from spec.tls.
type TLSValues struct {
	// VerifyMode is spec.tls.clientAuth as memcached's ssl_verify_mode: 1 for Request,
	// 2 for Require; empty for None.
	VerifyMode string `json:"verifyMode,omitempty"`
	// Proxied is true with spec.proxy.
	Proxied bool `json:"proxied,omitempty"`
}

// ReloaderValues holds the values of the sidecar that reloads changed files.
type ReloaderValues struct {
	// Enabled is always true.
	Enabled bool `json:"enabled,omitempty"`
	// Image is the sidecar's image, Defaults.ReloaderImage. If it is empty, the memcached
	// image is used.
	Image string `json:"image,omitempty"`
	// ImagePullPolicy is that of the memcached image, or Always for a Defaults.ReloaderImage with the tag latest.
	ImagePullPolicy string `json:"imagePullPolicy,omitempty"`
}

// MetricsValues holds the values computed from spec.metrics.
type MetricsValues struct {
	// Image is the exporter's image: spec.metrics.image, otherwise Defaults.ExporterImage or, with Access,
	// Defaults.AccessExporterImage. If it is empty, the template's image is used.
	Image string `json:"image,omitempty"`
	// ImagePullPolicy is Always for an Image with the tag latest.
	ImagePullPolicy string `json:"imagePullPolicy,omitempty"`
	// Access is true when memcached requires TLS or a user of the exporter.
	Access bool `json:"access,omitempty"`
	// TLS is true when it requires TLS, and Auth when it requires a user.
	TLS  bool `json:"tls,omitempty"`
	Auth bool `json:"auth,omitempty"`
	// RulesWithFlash is true with spec.metrics.rules and spec.flash.
	RulesWithFlash bool `json:"rulesWithFlash,omitempty"`
}

// ServiceValues has what spec.service sets by an empty object.
type ServiceValues struct {
	// ClusterIP is true with spec.service.clusterIP.
	ClusterIP bool `json:"clusterIP,omitempty"`
}

// PodDisruptionBudgetValues has what spec.podDisruptionBudget sets by an empty object.
type PodDisruptionBudgetValues struct {
	// None is true with spec.podDisruptionBudget.none.
	None bool `json:"none,omitempty"`
}

// Defaults holds the defaults and restrictions of the operator's environment. The zero
// value uses the defaults of the templates and allows no privileged field.
type Defaults struct {
	// Image is the memcached image, from RELATED_IMAGE_MEMCACHED.
	Image string
	// ExporterImage is the exporter's image, from RELATED_IMAGE_MEMCACHED_EXPORTER.
	ExporterImage string
	// AccessExporterImage is the exporter's image where memcached requires TLS or a user, from RELATED_IMAGE_EXPORTER: one of this
	// operator, of a version of its own.
	AccessExporterImage string
	// ReloaderImage is the image of the sidecar that reloads changed files, from
	// RELATED_IMAGE_MEMCACHED_RELOADER. It must contain a shell.
	ReloaderImage string
	// AllowPrivilegedFields lets Memcacheds set guarded fields: guarded.Fields.
	AllowPrivilegedFields bool
	// FullBuilds is called for each set of components whose Memcacheds take a full kustomize build each, which takes 5 to 10
	// times longer, and why. nil for none.
	FullBuilds func(components []string, reason string)
	// OperandImages lists the images that Memcacheds may set without AllowPrivilegedFields.
	// It defaults to the repositories of the images above, otherwise to those of the templates.
	OperandImages guarded.Images
}

// plainPod is what the templates give the pods of a Memcached without fields, as far as values depend on it.
type plainPod struct {
	capacity
	// sleepSeconds is the time of the preStop, in seconds; 0 means none.
	sleepSeconds int64
}

// fill sets the values that depend on what the templates give a pod.
func (plain plainPod) fill(v *Values, spec *cachev1alpha1.MemcachedSpec) {
	if spec.Memory != nil {
		v.Memory = &MemoryValues{Megabytes: strconv.FormatInt(spec.Memory.Value()/mebibyte, 10)}
	}
	if spec.Memory != nil || spec.MaxConnections != nil || spec.Threads != nil || spec.TLS != nil || spec.Flash != nil {
		c := plain.of(spec)
		v.ContainerMemory = &ContainerMemoryValues{
			Request:         strconv.FormatInt(c.request(), 10) + "Mi",
			Limit:           strconv.FormatInt(c.limit(), 10) + "Mi",
			BufferMegabytes: strconv.FormatInt(c.buffers(), 10),
		}
	}
	if spec.WarmRestart != nil {
		v.CacheFile = cacheFileValues(spec, plain.of(spec).megabytes)
	}
	if grace := spec.TerminationGracePeriodSeconds; grace != nil && *grace <= plain.sleepSeconds && spec.PreStop == nil {
		v.OmitPreStop = true
	}
}

// valuesFor computes the Values of mc.
func (d Defaults) valuesFor(mc *cachev1alpha1.Memcached, plain plainPod, openShift bool) Values {
	spec := &mc.Spec
	v := Values{
		Image:     imageOr(spec.Image, d.Image),
		OpenShift: openShift,
	}
	v.ImagePullPolicy = pullPolicy(v.Image)
	if spec.ImagePullPolicy != nil {
		v.ImagePullPolicy = string(*spec.ImagePullPolicy)
	}
	if spec.MaxItemSize != nil {
		v.MaxItemSize = itemSizeValues(*spec.MaxItemSize)
	}
	if spec.Flash != nil {
		v.Flash = flashValues(spec.Flash)
	}
	plain.fill(&v, spec)
	if spec.Verbosity != nil && *spec.Verbosity > 0 {
		v.Verbosity = &VerbosityValues{Flag: "-" + strings.Repeat("v", int(min(*spec.Verbosity, 3)))}
	}
	if len(spec.ExtraArgs) > 0 && spec.WarmRestart == nil {
		v.ExtraArgs = append([]string{"memcached"}, texts(spec.ExtraArgs)...)
	}
	v.TLS = tlsValues(spec)
	v.fillChoices(spec)
	if spec.TLS != nil || spec.Auth != nil {
		v.Reloader = d.reloader(v)
	}
	if spec.Metrics != nil {
		tls, auth := spec.TLS != nil, spec.Auth != nil
		defaultImage := d.ExporterImage
		if tls || auth {
			defaultImage = d.AccessExporterImage
		}
		image := imageOr(spec.Metrics.Image, defaultImage)
		v.Metrics = &MetricsValues{Image: image, ImagePullPolicy: pullPolicy(image), Access: tls || auth, TLS: tls, Auth: auth}
		v.Metrics.RulesWithFlash = spec.Metrics.Rules != nil && spec.Flash != nil
	}
	return v
}

// fillChoices sets the values of what the spec sets by an empty object.
func (v *Values) fillChoices(spec *cachev1alpha1.MemcachedSpec) {
	v.Service.ClusterIP = spec.Service != nil && spec.Service.ClusterIP != nil
	v.PodDisruptionBudget.None = spec.PodDisruptionBudget != nil && spec.PodDisruptionBudget.None != nil
}

// cacheFileValues returns the values of spec.warmRestart for a cache of megabytes.
func cacheFileValues(spec *cachev1alpha1.MemcachedSpec, megabytes int64) *CacheFileValues {
	v := &CacheFileValues{SizeLimit: strconv.FormatInt(megabytes+16, 10) + "Mi"}
	// memcached takes 0.23 s for each gigabyte to write down where the items are (measured with 4 GB).
	if gigabytes := megabytes >> 10; spec.TerminationGracePeriodSeconds == nil && gigabytes > 32 {
		v.GraceSeconds = strconv.FormatInt(30+gigabytes/2, 10)
	}
	v.ExtraArgs = strings.Join(texts(spec.ExtraArgs), " ")
	return v
}

func texts(args []cachev1alpha1.ExtraArg) []string {
	result := make([]string, len(args))
	for i, arg := range args {
		result[i] = string(arg)
	}
	return result
}

// tlsValues returns the values computed from spec.tls; nil when there is none.
func tlsValues(spec *cachev1alpha1.MemcachedSpec) *TLSValues {
	if spec.TLS == nil {
		return nil
	}
	v := &TLSValues{Proxied: spec.Proxy != nil}
	switch ptr.Deref(spec.TLS.ClientAuth, cachev1alpha1.ClientAuthNone) {
	case cachev1alpha1.ClientAuthRequest:
		v.VerifyMode = "1"
	case cachev1alpha1.ClientAuthRequire:
		v.VerifyMode = "2"
	case cachev1alpha1.ClientAuthNone:
	}
	return v
}

// reloader returns the values of the sidecar beside those of memcached.
func (d Defaults) reloader(memcached Values) *ReloaderValues {
	if d.ReloaderImage != "" {
		return &ReloaderValues{Enabled: true, Image: d.ReloaderImage, ImagePullPolicy: pullPolicy(d.ReloaderImage)}
	}
	return &ReloaderValues{Enabled: true, ImagePullPolicy: memcached.ImagePullPolicy}
}

// itemSizeValues converts size. An item that is larger than a chunk is stored in several
// chunks: its size must be a multiple of the chunk size, a power of two of kibibytes, by
// default 512.
func itemSizeValues(size resource.Quantity) *ItemSizeValues {
	bytes := size.Value()
	v := &ItemSizeValues{Bytes: strconv.FormatInt(bytes, 10)}
	if chunk := (bytes & -bytes) / kibibyte; chunk < maxChunk {
		v.ChunkKibibytes = strconv.FormatInt(max(chunk, 1), 10)
	}
	return v
}

// flashValues converts flash.size. memcached needs at least 8 pages, and writes large ones faster.
func flashValues(flash *cachev1alpha1.Flash) *FlashValues {
	megabytes, page := flash.Size.Value()/mebibyte, int64(16)
	if megabytes >= 4096 {
		page = 64
	}
	return &FlashValues{
		NodeDisk: flash.StorageClassName == nil, Megabytes: strconv.FormatInt(megabytes*9/10/page*page, 10), PageMegabytes: strconv.FormatInt(page, 10),
	}
}

// pullPolicy returns Always for an image with the tag latest, or without tag and digest, and
// an empty string for others, as Kubernetes defaults the policy when an object is created.
// Computed here, the policy does not depend on the first image of a Memcached.
func pullPolicy(image string) string {
	name, digest, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], "@")
	_, tag, _ := strings.Cut(name, ":")
	if tag == "latest" || image != "" && tag == "" && digest == "" {
		return string(corev1.PullAlways)
	}
	return ""
}

// imageOr returns image, or defaultImage if it is not set.
func imageOr(image *cachev1alpha1.Image, defaultImage string) string {
	if image != nil && *image != "" {
		return string(*image)
	}
	return defaultImage
}
