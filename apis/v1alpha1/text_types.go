// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Image is a container image, by tag or by digest, of at most 512 characters.
// +kubebuilder:validation:MaxLength=512
// +kubebuilder:validation:XValidation:rule="self.matches('^(([a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?|\\\\[[a-fA-F0-9:]+\\\\])(:[0-9]+)?/)?[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*(/[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*)*(:[a-zA-Z0-9_][-a-zA-Z0-9_.]{0,127})?(@[a-zA-Z][a-zA-Z0-9]*([-_+.][a-zA-Z][a-zA-Z0-9]*)*:[a-fA-F0-9]{32,})?$')",message="image must be a name with an optional registry, tag and digest and without spaces, such as memcached:1.6.45-alpine or registry.example.com:5000/memcached@sha256:<64 hexadecimal digits>"
type Image string

// ObjectName is the name of an object: a DNS subdomain name of at most 253
// characters.
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]+((-+|[.])[a-z0-9]+)*$')",message="must be the name of an object: 1 to 253 lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit"
type ObjectName string

// NamespaceName is the name of a namespace.
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]+(-+[a-z0-9]+)*$')",message="must be the name of a namespace: 1 to 63 lower-case letters, digits and '-', beginning and ending with a letter or digit"
type NamespaceName string

// LabelKey is the key of a label or a taint: at most 317 characters.
// +kubebuilder:validation:MaxLength=317
// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]+((-+|[.])[a-z0-9]+)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$') && self.indexOf('/') <= 253",message="must be a qualified name, such as team or example.com/team"
type LabelKey string

// LabelValue is the value of a label: at most 63 characters.
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:XValidation:rule="self.matches('^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$')",message="a label value must have at most 63 characters: letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"
type LabelValue string

// AnnotationValue is the value of an annotation: at most 4096 characters.
// +kubebuilder:validation:MaxLength=4096
type AnnotationValue string

// Labels are additional labels of an object: at most 16, with at most 2048
// characters together. The labels of the operator are reserved.
// +kubebuilder:validation:MaxProperties=16
// +kubebuilder:validation:XValidation:rule="self.all(key, key != 'app' && key != 'memcached_cr' && !key.startsWith('app.kubernetes.io/') && key != 'pod-template-hash')",message="labels app, memcached_cr, pod-template-hash and app.kubernetes.io/… belong to the operator; choose another key"
// +kubebuilder:validation:XValidation:rule="self.all(key, key.matches('^([a-z0-9]+((-+|[.])[a-z0-9]+)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$') && key.indexOf('/') <= 253)",message="each label key must be a qualified name, such as team or example.com/team"
// +kubebuilder:validation:XValidation:rule="self.map(key, size(key) + size(self[key])).sum() <= 2048",message="keys and values must have at most 2048 characters together; shorten or remove some"
type Labels map[string]LabelValue

// Annotations are additional annotations of an object: at most 16, with at most
// 8192 characters together.
// +kubebuilder:validation:MaxProperties=16
// +kubebuilder:validation:XValidation:rule="self.all(key, key.matches('^([a-z0-9]+((-+|[.])[a-z0-9]+)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$') && key.indexOf('/') <= 253)",message="each annotation key must be a qualified name, such as example.com/owner"
// +kubebuilder:validation:XValidation:rule="self.map(key, size(key) + size(self[key])).sum() <= 8192",message="keys and values must have at most 8192 characters together; shorten or remove some"
type Annotations map[string]AnnotationValue

// Parameters are values for the templates by name: at most 32, with at most 8192
// characters together.
// +kubebuilder:validation:MaxProperties=32
// +kubebuilder:validation:XValidation:rule="self.all(name, name.matches('^[a-z][A-Za-z0-9]{0,62}$'))",message="each name must begin with a lower-case letter and have at most 63 letters and digits, such as zone or logLevel"
// +kubebuilder:validation:XValidation:rule="self.map(name, size(name) + size(self[name])).sum() <= 8192",message="names and values must have at most 8192 characters together; shorten or remove some"
type Parameters map[string]ParameterValue

// ParameterValue is the value of a parameter: 1 to 1024 characters.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=1024
type ParameterValue string
