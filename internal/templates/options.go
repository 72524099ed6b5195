// SPDX-License-Identifier: Apache-2.0

package templates

import (
	"cmp"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/example/memcached-operator/manifests"
	"github.com/example/memcached-operator/reconcilers/guarded"
	"github.com/example/memcached-operator/reconcilers/render"
)

const (
	// The environment variables with the images, named as OLM requires.
	memcachedImageVariable = "RELATED_IMAGE_MEMCACHED"
	exporterImageVariable  = "RELATED_IMAGE_MEMCACHED_EXPORTER"
	reloaderImageVariable  = "RELATED_IMAGE_MEMCACHED_RELOADER"

	// For OLM, whose users can set environment variables but no flags.
	privilegedFieldsVariable = "ALLOW_PRIVILEGED_FIELDS"
	operandImagesVariable    = "OPERAND_IMAGES"
)

// Options are the flags and environment variables that change what is rendered.
type Options struct {
	// Dir is laid over the embedded templates; empty for none.
	Dir string
	// HelmValues is a values file of the chart, whose manifests are laid over the embedded templates; empty for none.
	HelmValues string
	// PrivilegedFields allows guarded fields.
	PrivilegedFields bool
	// OperandImages are the images that Memcacheds may name without PrivilegedFields.
	OperandImages guarded.Images
	// MemcachedImage, ExporterImage and ReloaderImage are the default images; empty for those of the templates.
	MemcachedImage, ExporterImage, ReloaderImage string
}

// Bind binds the flags of o, whose defaults and images come from the environment that getenv returns. The error is one of
// the environment, and counts only once the flags are parsed.
func (o *Options) Bind(flags *flag.FlagSet, getenv func(string) string) error {
	flags.StringVar(&o.Dir, "manifests-dir", "",
		"Directory whose base and components are laid over the embedded templates, file by file.")
	o.MemcachedImage = getenv(memcachedImageVariable)
	o.ExporterImage = getenv(exporterImageVariable)
	o.ReloaderImage = getenv(reloaderImageVariable)
	return o.bindGuarded(flags, getenv)
}

// bindGuarded binds the flags of privileged fields.
func (o *Options) bindGuarded(flags *flag.FlagSet, getenv func(string) string) error {
	allow := getenv(privilegedFieldsVariable)
	allowed, err := strconv.ParseBool(cmp.Or(allow, "false"))
	if err != nil {
		err = fmt.Errorf("%s: %q is neither true nor false", privilegedFieldsVariable, allow)
	}
	flags.BoolVar(&o.PrivilegedFields, "allow-privileged-fields", allowed,
		"Accept the fields of Memcacheds by which their authors can do more than by the plain templates, such as patches and "+
			"serviceAccountName (docs/user/privileged-fields.md). Set it only where the ValidatingAdmissionPolicy is installed that asks "+
			"what an author may do. Defaults to the environment variable "+privilegedFieldsVariable+".")
	images, errImages := guarded.ParseImages(getenv(operandImagesVariable))
	if errImages != nil {
		err = cmp.Or(err, fmt.Errorf("%s: %w", operandImagesVariable, errImages))
	}
	o.OperandImages = images
	flags.Func("operand-images", "Images that Memcacheds may name without --allow-privileged-fields, separated by commas: repositories, "+
		"of which any tag and digest is accepted, or all below a prefix, such as registry.example.com/cache/*. Defaults to the environment "+
		"variable "+operandImagesVariable+", else the repositories of the operator's own default images.",
		func(text string) (err error) {
			o.OperandImages, err = guarded.ParseImages(text)
			return err
		})
	return err
}

// Validate returns an error that names an invalid flag or environment variable.
func (o *Options) Validate() error {
	for variable, image := range map[string]string{
		memcachedImageVariable: o.MemcachedImage,
		exporterImageVariable:  o.ExporterImage,
		reloaderImageVariable:  o.ReloaderImage,
	} {
		if strings.ContainsAny(image, " \t\n") {
			return fmt.Errorf("%s: %q is not an image reference", variable, image)
		}
	}
	if o.Dir != "" && o.HelmValues != "" {
		return fmt.Errorf("--manifests-dir and --helm-values exclude each other: the chart passes its manifests as --manifests-dir")
	}
	return o.validateDir()
}

func (o *Options) validateDir() error {
	if o.Dir == "" {
		return nil
	}
	entries, err := os.ReadDir(o.Dir)
	if err != nil {
		return fmt.Errorf("--manifests-dir: %w", err)
	}
	if !slices.ContainsFunc(entries, func(entry os.DirEntry) bool { return slices.Contains([]string{"base", "components"}, entry.Name()) }) {
		return fmt.Errorf("--manifests-dir: %s holds neither base nor components, so it would change nothing", o.Dir)
	}
	return nil
}

// Load returns the embedded templates, overlaid with those of o.
func (o *Options) Load() (render.Tree, error) {
	layers := []fs.FS{manifests.FS}
	if o.Dir != "" {
		layers = append(layers, os.DirFS(o.Dir))
	}
	tree, err := render.LoadTree(layers...)
	if err != nil || o.HelmValues == "" {
		return tree, err
	}
	overlay, err := readHelmValues(o.HelmValues)
	if err != nil {
		return nil, fmt.Errorf("--helm-values: %w", err)
	}
	maps.Copy(tree, overlay)
	return tree, nil
}

// Renderer loads the templates and checks them.
func (o *Options) Renderer() (*render.Renderer, error) {
	tree, err := o.Load()
	if err != nil {
		return nil, err
	}
	return render.New(tree, render.Defaults{
		Image:                 o.MemcachedImage,
		ExporterImage:         o.ExporterImage,
		ReloaderImage:         o.ReloaderImage,
		AllowPrivilegedFields: o.PrivilegedFields,
		OperandImages:         o.OperandImages,
	})
}
