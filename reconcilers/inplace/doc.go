// SPDX-License-Identifier: Apache-2.0

// Package inplace decides how the images of a Deployment's pods are changed while the pods stay, one pod at a time: by the images of
// the pods, then that of their ReplicaSet, then that of the Deployment, which is paused meanwhile and finds the ReplicaSet up to date
// after that. It is a pure function of what was observed, so that any step may be the last one of an operator.
package inplace
