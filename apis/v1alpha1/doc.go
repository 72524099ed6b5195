// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the API of the operator: the Memcached custom resource of
// the group cache.example.com, the condition types and reasons that its status
// uses, and, in the directories beside it, the generated apply configurations.
//
// The types are the single source of the CustomResourceDefinition, of the
// reference documentation and of what `kubectl explain` prints: what is written
// in a comment here is read by users.
// +kubebuilder:object:generate=true
// +kubebuilder:ac:generate=true
// +kubebuilder:ac:output:package="applyconfiguration"
// +groupName=cache.example.com
package v1alpha1
