// SPDX-License-Identifier: Apache-2.0

// Package guarded lists the fields of a Memcached by which its author could gain more
// than the plain templates give: the operator creates Deployments and more on behalf of
// everybody who may write Memcacheds, also of those who may create none themselves.
//
// The list is one table, Fields. Without --allow-privileged-fields the operator refuses
// every field in it: Check. With the flag a ValidatingAdmissionPolicy, config/admission,
// asks each author for the right that the table names. The policy is written in CEL;
// tests compare it, the documentation and the text of the ClusterServiceVersion with
// the table.
package guarded
