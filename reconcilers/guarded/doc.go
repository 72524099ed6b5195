// SPDX-License-Identifier: Apache-2.0

// Package guarded lists the privileged fields of a Memcached. The operator creates Deployments and other objects on
// behalf of every user who may write Memcacheds, including users who may not create Deployments themselves; by
// these fields such users could escalate their privileges.
//
// Fields is the list. Without --allow-privileged-fields Check rejects each of them. With the flag a
// ValidatingAdmissionPolicy, config/admission, requires the permission that the list names. The policy is written
// in CEL; tests compare it, the documentation and the description in the ClusterServiceVersion with the list.
package guarded
