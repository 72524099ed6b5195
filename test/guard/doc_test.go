// SPDX-License-Identifier: Apache-2.0

// Package guard tests that writing Memcacheds gives nobody more than the plain
// templates do: with the CRD, the ValidatingAdmissionPolicy and the roles as kustomize
// builds them from config/, on a real API server, and with the operator at work, which
// is allowed the privileged fields.
//
// Each row of a table is a Memcached that a hostile author sends, who may write
// Memcacheds and nothing else. It says who refuses it, with which words, and what
// becomes of it when an author sends it who has the rights that it takes.
package guard
