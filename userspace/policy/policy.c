/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "policy/policy.h"

#include <stdlib.h>

#include "policy/keys.h"

void rf_policy_clear(struct rf_policy *policy)
{
	free(policy->workspace);
	free(policy->directory);
	free(policy->user);
	rf_strv_clear(&policy->read);
	rf_strv_clear(&policy->write);
	rf_strv_clear(&policy->write_files);
	rf_strv_clear(&policy->protect);
	rf_strv_clear(&policy->deny);
	rf_strv_clear(&policy->external_read);
	rf_strv_clear(&policy->device);
	rf_strv_clear(&policy->allow);
	rf_strv_clear(&policy->families);
	rf_strv_clear(&policy->environment_pass);
	rf_strv_clear(&policy->environment_set);
	*policy = (struct rf_policy){0};
}

static int append(struct rf_strv *base, struct rf_strv *over)
{
	int r = over->items ? rf_strv_add_all(base, (const char *const *)over->items) : 0;

	if (r == 0)
		rf_strv_clear(over);
	return r;
}

static void take_text(char **base, char **over)
{
	if (!*over)
		return;
	free(*base);
	*base = RF_TAKE(*over);
}

static void take_switch(enum rf_tristate *base, enum rf_tristate over)
{
	if (over != RF_UNSET)
		*base = over;
}

static int overlay_member(const struct rf_key *key, struct rf_policy *base, struct rf_policy *over)
{
	void *to = (char *)base + key->offset;
	void *from = (char *)over + key->offset;

	switch (key->type) {
	case RF_KEY_MODE:
		if (over->mode != RF_MODE_UNSET)
			base->mode = over->mode;
		return 0;
	case RF_KEY_POSTURE:
		if (over->posture != RF_POSTURE_UNSET)
			base->posture = over->posture;
		return 0;
	case RF_KEY_GIT:
		if (over->git != RF_GIT_UNSET)
			base->git = over->git;
		return 0;
	case RF_KEY_PATH:
	case RF_KEY_USER:
		take_text(to, from);
		return 0;
	case RF_KEY_PATHS:
	case RF_KEY_ABSOLUTES:
	case RF_KEY_VARIABLES:
	case RF_KEY_SETTINGS:
	case RF_KEY_DESTINATIONS:
	case RF_KEY_FAMILIES:
		return append(to, from);
	case RF_KEY_PROMISES:
		*(uint32_t *)to |= *(uint32_t *)from;
		return 0;
	case RF_KEY_SWITCH:
		take_switch(to, *(enum rf_tristate *)from);
		return 0;
	case RF_KEY_DURATION_LIMIT:
	case RF_KEY_SIZE_LIMIT:
	case RF_KEY_COUNT_LIMIT:
		if (((struct rf_limit_asked *)from)->is_set)
			*(struct rf_limit_asked *)to = *(struct rf_limit_asked *)from;
		return 0;
	case RF_KEY_GRACE:
		if (over->has_grace) {
			base->has_grace = true;
			base->grace_ms = over->grace_ms;
		}
		return 0;
	}
	return 0;
}

int rf_policy_overlay(struct rf_policy *base, struct rf_policy *over)
{
	size_t count;
	const struct rf_key *keys = rf_keys(&count);

	for (size_t i = 0; i < count; i++) {
		int r = overlay_member(&keys[i], base, over);

		if (r < 0)
			return r;
	}
	rf_policy_clear(over);
	return 0;
}
