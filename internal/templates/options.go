// SPDX-License-Identifier: Apache-2.0

package templates

import (
	"cmp"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/example/memcached-operator/internal/memory"
	"github.com/example/memcached-operator/manifests"
	"github.com/example/memcached-operator/reconcilers/guarded"
	"github.com/example/memcached-operator/reconcilers/render"
)

const (
	// MemcachedImageVariable is an environment variable with an image, as the next two, named as OLM requires.
	MemcachedImageVariable = "RELATED_IMAGE_MEMCACHED"
	exporterImageVariable  = "RELATED_IMAGE_MEMCACHED_EXPORTER"
	accessImageVariable    = "RELATED_IMAGE_EXPORTER"
	reloaderImageVariable  = "RELATED_IMAGE_MEMCACHED_RELOADER"

	// For OLM, whose users can set environment variables but no flags.
	manifestsDirVariable     = "MANIFESTS_DIR"
	privilegedFieldsVariable = "ALLOW_PRIVILEGED_FIELDS"
	operandImagesVariable    = "OPERAND_IMAGES"

	privilegedFieldsFlag = "allow-privileged-fields"
	operandImagesFlag    = "operand-images"
)

// Options are the flags and environment variables that change what is rendered.
type Options struct {
	// Dir is laid over the embedded templates; empty for none.
	Dir string
	// HelmValues is a values file of the chart, whose manifests are laid over the embedded templates; empty for none.
	HelmValues string
	// Overlay are files that are laid over the embedded templates unless Dir or HelmValues is set.
	Overlay render.Tree
	// PrivilegedFields allows guarded fields.
	PrivilegedFields bool
	// OperandImages are the images that Memcacheds may name without PrivilegedFields.
	OperandImages guarded.Images
	// MemcachedImage and the others are the default images; empty for those of the templates.
	MemcachedImage, ExporterImage, AccessExporterImage, ReloaderImage string
	// FullBuilds is [render.Defaults.FullBuilds].
	FullBuilds func(components []string, reason string)
}

// Bind binds the flags of o, whose defaults and images come from the environment that getenv returns. The error is one of
// the environment, and counts only once the flags are parsed.
func (o *Options) Bind(flags *flag.FlagSet, getenv func(string) string) error {
	flags.StringVar(&o.Dir, "manifests-dir", getenv(manifestsDirVariable),
		"Directory whose base and components are laid over the embedded templates, file by file. Defaults to the environment variable "+
			manifestsDirVariable+".")
	o.MemcachedImage = getenv(MemcachedImageVariable)
	o.ExporterImage = getenv(exporterImageVariable)
	o.AccessExporterImage = getenv(accessImageVariable)
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
	flags.BoolVar(&o.PrivilegedFields, privilegedFieldsFlag, allowed,
		"Accept the fields of Memcacheds by which their authors can do more than by the plain templates, such as patches and "+
			"serviceAccountName (docs/user/privileged-fields.md). Set it only where the ValidatingAdmissionPolicy is installed that asks "+
			"what an author may do. Defaults to the environment variable "+privilegedFieldsVariable+".")
	images, errImages := guarded.ParseImages(getenv(operandImagesVariable))
	if errImages != nil {
		err = cmp.Or(err, fmt.Errorf("%s: %w", operandImagesVariable, errImages))
	}
	o.OperandImages = images
	flags.Func(operandImagesFlag, "Images that Memcacheds may name without --allow-privileged-fields, separated by commas: repositories, "+
		"of which any tag and digest is accepted, or all below a prefix, such as registry.example.com/cache/*. Defaults to the environment "+
		"variable "+operandImagesVariable+", else the repositories of the operator's own default images.",
		func(text string) (err error) {
			o.OperandImages, err = guarded.ParseImages(text)
			return err
		})
	return err
}

// Inherit sets what the command line and the environment of o leave open to what other has. isSet reports whether a flag is
// set on the command line; getenv returns the environment.
func (o *Options) Inherit(other Options, isSet func(flag string) bool, getenv func(string) string) {
	o.Overlay = other.Overlay
	o.MemcachedImage = cmp.Or(o.MemcachedImage, other.MemcachedImage)
	o.ExporterImage = cmp.Or(o.ExporterImage, other.ExporterImage)
	o.AccessExporterImage = cmp.Or(o.AccessExporterImage, other.AccessExporterImage)
	o.ReloaderImage = cmp.Or(o.ReloaderImage, other.ReloaderImage)
	if !isSet(privilegedFieldsFlag) && getenv(privilegedFieldsVariable) == "" {
		o.PrivilegedFields = other.PrivilegedFields
	}
	if !isSet(operandImagesFlag) && getenv(operandImagesVariable) == "" {
		o.OperandImages = other.OperandImages
	}
}

// Validate returns an error that names an invalid flag or environment variable.
func (o *Options) Validate() error {
	for variable, image := range map[string]string{
		MemcachedImageVariable: o.MemcachedImage,
		exporterImageVariable:  o.ExporterImage,
		accessImageVariable:    o.AccessExporterImage,
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
	if _, err := os.ReadDir(o.Dir); err != nil {
		return fmt.Errorf("--manifests-dir: %w", err)
	}
	for _, name := range []string{"base", "components"} {
		if _, err := os.Stat(filepath.Join(o.Dir, name)); err == nil {
			return nil
		}
	}
	return fmt.Errorf("--manifests-dir: %s holds neither base nor components, so it would change nothing", o.Dir)
}

// Load returns the embedded templates, overlaid with those of o.
func (o *Options) Load() (render.Tree, error) {
	layers := []fs.FS{manifests.FS}
	if o.Dir != "" {
		layers = append(layers, os.DirFS(o.Dir))
	}
	tree, err := render.LoadTree(layers...)
	if err != nil && o.Dir != "" {
		return nil, fmt.Errorf("--manifests-dir: %s: %w", o.Dir, err)
	}
	if err != nil || o.HelmValues == "" {
		if err == nil && o.Dir == "" {
			maps.Copy(tree, o.Overlay)
		}
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
	return o.RendererOf(tree)
}

// RendererOf checks the templates of tree, which Load returned.
func (o *Options) RendererOf(tree render.Tree) (*render.Renderer, error) {
	memory.Begin(memory.Many) // Builds produce much garbage.
	defer memory.End(memory.Many)
	return render.New(tree, o.defaults())
}

// Check loads the templates and checks them, like Renderer. It returns all problems, and warnings
// of what has no effect; the renderer is nil if there are problems.
func (o *Options) Check() (renderer *render.Renderer, problems, warnings render.Problems, err error) {
	tree, err := o.Load()
	if err != nil {
		return nil, nil, nil, err
	}
	memory.Begin(memory.Many)
	defer memory.End(memory.Many)
	renderer, problems, warnings, err = render.Check(tree, o.defaults())
	if err != nil {
		return nil, nil, nil, err
	}
	ignored, err := o.ignoredEntries()
	return renderer, problems, append(warnings, ignored...).Sorted(), err
}

// ignoredEntries returns a warning for each directory and each YAML file beside base and components.
func (o *Options) ignoredEntries() (warnings render.Problems, err error) {
	if o.Dir == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("--manifests-dir: %w", err)
	}
	for _, entry := range entries {
		name := entry.Name()
		if name == "base" || name == "components" || strings.HasPrefix(name, ".") {
			continue // A mounted ConfigMap has names that begin with two dots.
		}
		info, err := os.Stat(filepath.Join(o.Dir, name)) // It follows symbolic links.
		isYAML := slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name))
		if isYAML || err == nil && info.IsDir() {
			warnings = append(warnings, render.Problem{File: name, Message: "only the directories base and components are read, so this has no effect; move it there, or remove it"})
		}
	}
	return warnings, nil
}

func (o *Options) defaults() render.Defaults {
	return render.Defaults{
		Image:                 o.MemcachedImage,
		ExporterImage:         o.ExporterImage,
		AccessExporterImage:   o.AccessExporterImage,
		ReloaderImage:         o.ReloaderImage,
		AllowPrivilegedFields: o.PrivilegedFields,
		OperandImages:         o.OperandImages,
		FullBuilds:            o.FullBuilds,
	}
}
