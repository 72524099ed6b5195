// SPDX-License-Identifier: Apache-2.0

// Package admission tests that writing Memcacheds gives no author more than the plain
// templates do, with the CRD, the ValidatingAdmissionPolicy and the roles as kustomize
// builds them from config/, on a real API server, and with the operator at work.
//
// Each row of the tables in rows_*_test.go is a Memcached that a hostile author sends.
// TestPolicy_RejectsHostileMemcacheds sends all of them in four installs, in each way of writing,
// and compares the objects that result. The other tests hold the policy against the
// list of fields in reconcilers/guarded, right by right and image by image, and against
// the limits of the API server.
package admission
